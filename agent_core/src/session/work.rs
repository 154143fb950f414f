//! What a session does, and the prompts that wait for it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::backlog::{Backlog, Share};
use crate::cancel::Cancel;
use crate::clock::unix_ms;
use crate::content::Content;
use crate::id::TurnId;
use crate::outward::CallError;
use crate::slash;

/// Bytes of prompts that may wait in a session's queue.
pub(crate) const QUEUE: usize = 64 << 20;

/// What a session does and what it is to do.
pub(super) struct Work {
    doing: Doing,
    /// Commands that are answered beside the turn.
    beside: Vec<Running>,
    queue: VecDeque<Prompt>,
    /// Prompts that are to join the running turn. What that turn does not take in goes to the front of the queue.
    steers: Vec<Prompt>,
    last_turn: u64,
    /// When it last had something to do as this process's to write; none while it is not.
    awake: Option<Instant>,
}

enum Doing {
    /// Nothing; a prompt begins at once.
    Nothing,
    /// A turn; further prompts queue.
    Turn(Running),
    /// It is being put to rest; all prompts queue.
    LiesDown,
}

struct Running {
    turn: TurnId,
    cancel: Cancel,
    /// It asks a model, and will ask it again.
    is_steerable: bool,
}

/// How a prompt is meant while a turn runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As one of its own, after those before it.
    Queues,
    /// To join the turn, if there is one to join.
    Steers,
}

/// A prompt and the switch that cancels it, queued or running.
pub(crate) struct Prompt {
    pub(crate) turn: TurnId,
    pub(crate) content: Vec<Content>,
    pub(crate) cancel: Cancel,
    /// Of the backlog; none once it has begun.
    pub(crate) share: Option<Share>,
}

/// When a prompt begins.
pub(crate) enum Begin {
    /// Now, as the session's turn.
    Now(Prompt),
    /// Now, beside the turn that runs: a command that only tells or sets something.
    Beside(Prompt),
    /// With the running turn's next step, as a part of that turn.
    Joins,
    /// When those before it have ended.
    Later,
}

/// Whether a session rests.
pub(crate) enum Rest {
    /// From now on.
    Now,
    /// Not before this time has passed.
    Later(Duration),
}

impl Work {
    /// None, after a turn with this number.
    pub(super) fn after(last_turn: u64) -> Self {
        Self {
            doing: Doing::Nothing,
            beside: Vec::new(),
            queue: VecDeque::new(),
            steers: Vec::new(),
            last_turn,
            awake: None,
        }
    }

    /// Takes a prompt in, if the backlog has room for it or it begins at once: if it could and there `is_thread`. What
    /// `acts_at_once` does not wait for the turn that runs.
    pub(super) fn enqueue(
        &mut self,
        content: Vec<Content>,
        acts_at_once: bool,
        backlog: &Backlog,
        is_thread: bool,
    ) -> Result<(TurnId, Begin), CallError> {
        let size = size(&content);
        match self.doing {
            Doing::Nothing => {
                let held = is_thread.then(|| backlog.hold(size));
                let share = held.or_else(|| backlog.take(size)).ok_or(CallError::QueueFull)?;
                let prompt = self.prompt(content, share);
                self.doing = Doing::Turn(prompt.running());
                Ok((prompt.turn, Begin::Now(prompt)))
            }
            Doing::Turn(_) if acts_at_once => {
                let prompt = self.prompt(content, backlog.hold(size));
                self.beside.push(prompt.running());
                Ok((prompt.turn, Begin::Beside(prompt)))
            }
            Doing::Turn(_) | Doing::LiesDown => {
                let prompt = self.waiting(content, backlog)?;
                let turn = prompt.turn;
                self.queue.push_back(prompt);
                Ok((turn, Begin::Later))
            }
        }
    }

    /// Whether a prompt can join what runs.
    pub(super) fn is_steerable(&self) -> bool {
        self.turn().is_some_and(|running| running.is_steerable)
    }

    /// Takes a prompt in that joins the running turn.
    pub(super) fn join(&mut self, content: Vec<Content>, backlog: &Backlog) -> Result<TurnId, CallError> {
        let prompt = self.waiting(content, backlog)?;
        let turn = prompt.turn;
        self.steers.push(prompt);
        Ok(turn)
    }

    /// The next prompt once a turn has ended; none if there is none.
    pub(super) fn next(&mut self) -> Option<Prompt> {
        for late in std::mem::take(&mut self.steers).into_iter().rev() {
            self.queue.push_front(late);
        }
        let next = self.queue.pop_front();
        self.doing = next
            .as_ref()
            .map_or(Doing::Nothing, |prompt| Doing::Turn(prompt.running()));
        if next.is_none() {
            self.awake = self.awake.map(|_| Instant::now());
        }
        next
    }

    /// The prompts that are to join the running turn, which goes on.
    pub(super) fn take_steers(&mut self) -> Vec<Prompt> {
        std::mem::take(&mut self.steers)
    }

    /// The same for a turn that is about to end. If there are none, no further one joins it.
    pub(super) fn last_steers(&mut self) -> Vec<Prompt> {
        let steers = std::mem::take(&mut self.steers);
        if let (true, Doing::Turn(running)) = (steers.is_empty(), &mut self.doing) {
            running.is_steerable = false;
        }
        steers
    }

    /// A command beside the turn has been answered.
    pub(super) fn end_beside(&mut self, turn: TurnId) {
        self.beside.retain(|running| running.turn != turn);
    }

    /// The turn that runs now.
    pub(super) fn running(&self) -> Option<TurnId> {
        self.turn().map(|running| running.turn)
    }

    /// What cancels those that are meant, running or waiting.
    pub(super) fn cancels(&self, is_meant: impl Fn(TurnId) -> bool) -> Vec<Cancel> {
        let running = self.turn().into_iter().chain(&self.beside);
        let running = running.map(|running| (running.turn, &running.cancel));
        let waiting = self.waits().map(|prompt| (prompt.turn, &prompt.cancel));
        let meant = running.chain(waiting).filter(|(turn, _)| is_meant(*turn));
        meant.map(|(_, cancel)| cancel.clone()).collect()
    }

    /// This process is the session's writer now.
    pub(super) fn wake(&mut self) {
        self.awake = Some(Instant::now());
    }

    /// Lies down after so long without anything to do.
    pub(super) fn rest(&mut self, after: Duration) -> Rest {
        let Some(since) = self.awake.filter(|_| self.is_idle()) else {
            return Rest::Later(after);
        };
        let idle = since.elapsed();
        if idle < after {
            return Rest::Later(after - idle);
        }
        self.awake = None;
        self.doing = Doing::LiesDown;
        Rest::Now
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.doing, Doing::Nothing) && self.beside.is_empty()
    }

    fn turn(&self) -> Option<&Running> {
        match &self.doing {
            Doing::Turn(running) => Some(running),
            Doing::Nothing | Doing::LiesDown => None,
        }
    }

    fn waits(&self) -> impl Iterator<Item = &Prompt> {
        self.queue.iter().chain(&self.steers)
    }

    /// A prompt that waits, if there is room for it.
    fn waiting(&mut self, content: Vec<Content>, backlog: &Backlog) -> Result<Prompt, CallError> {
        let size = size(&content);
        if !self.has_room(size) {
            return Err(CallError::QueueFull);
        }
        let share = backlog.take(size).ok_or(CallError::QueueFull)?;
        Ok(self.prompt(content, share))
    }

    /// Whether the queue takes a prompt; an empty one takes any.
    fn has_room(&self, more: usize) -> bool {
        let mut waits = self.waits().peekable();
        waits.peek().is_none() || waits.map(|prompt| size(&prompt.content)).sum::<usize>() + more <= QUEUE
    }

    /// A prompt with the next number.
    fn prompt(&mut self, content: Vec<Content>, share: Share) -> Prompt {
        if self.awake.is_none() && self.last_turn > 0 {
            // Another process may have gone on meanwhile, and its turns have the next numbers. The clock's is higher.
            self.last_turn = self.last_turn.max(unix_ms().unsigned_abs());
        }
        self.last_turn += 1;
        Prompt {
            turn: TurnId(self.last_turn),
            content,
            cancel: Cancel::new(),
            share: Some(share),
        }
    }
}

impl Prompt {
    fn running(&self) -> Running {
        Running {
            turn: self.turn,
            cancel: self.cancel.clone(),
            is_steerable: slash::parse(&self.content).is_none(),
        }
    }
}

fn size(content: &[Content]) -> usize {
    content.iter().map(Content::size).sum()
}
