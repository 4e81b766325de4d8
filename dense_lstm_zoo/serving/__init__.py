"""What an export brings for servers: its signatures described with real answers, and requests that warm a server up."""
