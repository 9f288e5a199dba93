"""What it is made with: warehouse, language-model gateway, response store, prompts, profiles."""
