//! The memory of huge pages, and what saves change.

mod needs_huge_pages;
