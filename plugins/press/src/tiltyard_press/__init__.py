"""What is printed and handed round: house styles, PDF, workbook, slides, LaTeX, a gallery."""
