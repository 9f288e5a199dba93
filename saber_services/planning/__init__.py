"""What a build would do, ask and cost, found by running its own code without a model."""
