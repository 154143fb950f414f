//! How the text of a reply was cut, so that it can go back between the items that stood there. Stored as lengths: the
//! text itself is kept by the core.

/// Cuts a text into pieces of these lengths in bytes; none if they don't fit, as for a text that was changed since.
pub(crate) fn cut(text: &str, lengths: impl IntoIterator<Item = usize>) -> Option<Vec<&str>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    for length in lengths {
        let (piece, after) = rest.split_at_checked(length)?;
        pieces.push(piece);
        rest = after;
    }
    rest.is_empty().then_some(pieces)
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_text_is_cut_where_it_was_or_not_at_all() {
        assert_eq!(cut("añb", [3, 0, 1]), Some(vec!["añ", "", "b"]));
        assert_eq!(cut("", []), Some(vec![]));
        for lengths in [[2, 2], [3, 2], [1, 1]] {
            assert_eq!(cut("añb", lengths), None, "{lengths:?}");
        }
    }
}
