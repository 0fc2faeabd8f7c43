"""What the sections of the plan document are made of: tables, and the terms that all of them use."""
