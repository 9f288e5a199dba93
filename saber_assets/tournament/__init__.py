"""Swiss rounds, pairwise judgments and Bradley-Terry ratings."""
