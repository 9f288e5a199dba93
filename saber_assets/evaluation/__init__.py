"""Measures, intervals and the leaderboard."""
