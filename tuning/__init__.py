"""The papers' tables as jobs: each module declares one, ``runner`` runs them; nothing here is part of the package."""
