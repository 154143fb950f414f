//! Scripts of `sed`: which only print. A small part of the language, read the way every `sed` reads it; other scripts can
//! write files and run commands.

use std::iter::Peekable;
use std::str::Chars;

/// Whether a script only selects, replaces and prints lines.
pub(super) fn only_prints(script: &str) -> bool {
    let plain = |char: char| !char.is_control();
    script.chars().all(plain) && commands(&mut script.chars().peekable()).is_some()
}

type Rest<'a> = Peekable<Chars<'a>>;

fn commands(rest: &mut Rest<'_>) -> Option<()> {
    loop {
        while rest.next_if(|char| matches!(char, ' ' | ';')).is_some() {}
        if rest.peek().is_none() {
            return Some(());
        }
        address(rest)?;
        if rest.next_if_eq(&',').is_some() {
            blanks(rest);
            rest.next_if_eq(&'+');
            address(rest)?;
        }
        blanks(rest);
        rest.next_if_eq(&'!');
        match rest.next()? {
            'p' | 'd' | 'q' | '=' => {}
            's' => substitution(rest)?,
            _ => return None,
        }
        blanks(rest);
        if !matches!(rest.peek(), None | Some(';')) {
            return None;
        }
    }
}

fn blanks(rest: &mut Rest<'_>) {
    while rest.next_if_eq(&' ').is_some() {}
}

/// A number, `$`, `/…/`, or none.
fn address(rest: &mut Rest<'_>) -> Option<()> {
    if rest.next_if_eq(&'$').is_some() {
        return Some(());
    }
    if rest.next_if_eq(&'/').is_some() {
        return expression(rest, '/');
    }
    while rest.next_if(char::is_ascii_digit).is_some() {}
    Some(())
}

fn substitution(rest: &mut Rest<'_>) -> Option<()> {
    let mark = rest.next().filter(|mark| "/|#,:@%+!_~".contains(*mark))?;
    expression(rest, mark)?;
    replacement(rest, mark)?;
    while rest
        .next_if(|flag| matches!(flag, 'g' | 'p' | 'i' | 'I' | '0'..='9'))
        .is_some()
    {}
    Some(())
}

/// Up to the mark. In brackets some take the mark for a letter like any other and some don't: there it may not stand.
fn expression(rest: &mut Rest<'_>, mark: char) -> Option<()> {
    loop {
        match rest.next()? {
            '\\' => drop(rest.next()?),
            char if char == mark => return Some(()),
            '[' => brackets(rest, mark)?,
            _ => {}
        }
    }
}

fn brackets(rest: &mut Rest<'_>, mark: char) -> Option<()> {
    rest.next_if_eq(&'^');
    let mut empty = true;
    loop {
        match rest.next()? {
            '[' => class(rest)?,
            '\\' => return None,
            char if char == mark => return None,
            ']' if empty => return None,
            ']' => return Some(()),
            _ => {}
        }
        empty = false;
    }
}

/// `[:space:]`
fn class(rest: &mut Rest<'_>) -> Option<()> {
    rest.next_if_eq(&':')?;
    while rest.next_if(char::is_ascii_lowercase).is_some() {}
    rest.next_if_eq(&':')?;
    rest.next_if_eq(&']').map(drop)
}

fn replacement(rest: &mut Rest<'_>, mark: char) -> Option<()> {
    loop {
        match rest.next()? {
            '\\' => drop(rest.next()?),
            char if char == mark => return Some(()),
            _ => {}
        }
    }
}
