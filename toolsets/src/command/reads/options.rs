//! The options of a command, read as GNU programs read them; one that is not known means the command is not known.

use super::table::Program;

/// What a command was given.
#[derive(Debug, Default)]
pub(super) struct Used<'a> {
    pub(super) operands: Vec<&'a str>,
    /// `-r` or `--recursive`.
    pub(super) recursive: bool,
    /// `-e`, `--regexp`, or ripgrep's `--files`: the first operand is no pattern.
    pub(super) pattern_given: bool,
    /// `-g`, `-t` or their long forms: ripgrep then also reads hidden files that fit.
    pub(super) chosen: bool,
}

impl Program {
    /// The arguments by their sort, or the first option that the table doesn't name.
    pub(super) fn used<'a>(&self, args: &'a [String]) -> Result<Used<'a>, String> {
        let (mut used, mut options) = (Used::default(), true);
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            if !options || arg == "-" || !arg.starts_with('-') {
                used.operands.push(arg);
            } else if arg == "--" {
                options = false;
            } else {
                let known = match arg.strip_prefix("--") {
                    Some(long) => self.long(long, &mut args, &mut used),
                    None => self.short(&arg[1..], &mut args, &mut used),
                };
                known.ok_or_else(|| format!("the option `{arg}`"))?;
            }
        }
        Ok(used)
    }

    fn short<'a>(&self, letters: &str, args: &mut impl Iterator<Item = &'a str>, used: &mut Used<'a>) -> Option<()> {
        if self.number && letters.chars().all(|char| char.is_ascii_digit()) {
            return Some(());
        }
        for (index, letter) in letters.char_indices() {
            used.recursive |= letter == 'r';
            used.pattern_given |= letter == 'e';
            used.chosen |= matches!(letter, 'g' | 't');
            if self.values.contains(letter) {
                let attached = &letters[index + letter.len_utf8()..];
                return match attached {
                    "" => args.next().map(drop),
                    // Such a program takes the next word for the value and the rest for more options.
                    _ if self.values_apart => None,
                    _ => Some(()),
                };
            }
            self.flags.contains(letter).then_some(())?;
        }
        Some(())
    }

    fn long<'a>(&self, long: &str, args: &mut impl Iterator<Item = &'a str>, used: &mut Used<'a>) -> Option<()> {
        let (name, value) = long
            .split_once('=')
            .map_or((long, None), |(name, value)| (name, Some(value)));
        used.recursive |= name == "recursive";
        used.pattern_given |= matches!(name, "regexp" | "files");
        used.chosen |= matches!(name, "glob" | "iglob" | "type");
        let known = |entry: &&&str| entry.trim_end_matches(['=', '?']) == name;
        let entry = self.long.iter().find(known)?;
        match value {
            Some(_) => entry.ends_with(['=', '?']).then_some(()),
            None if entry.ends_with('=') => args.next().map(drop),
            None => Some(()),
        }
    }
}
