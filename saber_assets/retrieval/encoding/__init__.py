"""How texts become vectors: the contract, the encoders that keep it, the gate that compares."""
