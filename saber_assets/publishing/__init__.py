"""What leaves the platform: exports and the report page."""
