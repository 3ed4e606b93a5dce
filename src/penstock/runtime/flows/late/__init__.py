"""What a flow does about late rows and its watermark."""
