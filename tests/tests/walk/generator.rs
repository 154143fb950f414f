//! Makes a walk of a seed.

use fastrand::Rng;

use crate::lines::Odd;
use crate::steps::{Abilities, End, Manner, Play, Step, Walk};

/// Which things a walk may have in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// An agent in this process.
    Inside,
    /// The built binary, which can be killed.
    Binary,
}

/// The walk of this seed.
pub(crate) fn generate(seed: u64, ground: Ground) -> Walk {
    let mut random = Rng::with_seed(seed);
    let abilities = Abilities {
        reads: random.bool(),
        writes: random.bool(),
        terminals: random.bool(),
        forms: random.bool(),
        notices: random.bool(),
    };
    // Its process would cost each walk much of its time.
    let serves = random.u8(0..10) == 0;
    let length = match random.u8(0..20) {
        0 => random.usize(150..300),
        1..6 => random.usize(40..100),
        _ => random.usize(4..40),
    };
    let mut path = Path {
        is_loose: random.u8(0..6) == 0,
        // Some clients hardly ever look at what comes back.
        hurry: random.u8(1..10),
        ground,
        serves,
        random,
        steps: vec![Step::New, Step::Settle],
    };
    while path.steps.len() < length {
        path.go_on();
    }
    if ground == Ground::Binary && path.random.bool() {
        path.steps.extend([
            Step::Prompt(0, Play::Hold),
            Step::Await(0),
            Step::Kill,
            Step::Load(0),
            Step::Load(1),
        ]);
    }
    let end = match path.random.u8(0..10) {
        0..4 => End::Politely,
        4..8 => End::Cancels,
        _ => End::Leaves,
    };
    Walk {
        seed,
        abilities,
        serves,
        steps: path.steps,
        end,
    }
}

struct Path {
    random: Rng,
    ground: Ground,
    /// There is an MCP server.
    serves: bool,
    /// Modes are set in which things run without a question.
    is_loose: bool,
    hurry: u8,
    steps: Vec<Step>,
}

impl Path {
    fn go_on(&mut self) {
        let at = self.random.u8(0..3);
        match self.random.u8(0..100) {
            0..38 => self.prompt(at),
            38..56 => self.answer(),
            56..60 => self.add(Step::Await(at)),
            60..65 => self.add(Step::Cancel(at)),
            65..68 => {
                let pick = self.random.u8(..);
                self.add(Step::CancelRequest(pick));
            }
            68..74 => self.open(at),
            74..86 => self.session(at),
            86..90 => self.add(Step::Steer(at)),
            90..93 => {
                let command = self.choose(&["/help", "/context", "/title of a walk", "/mode default", "/tools"]);
                self.add(Step::Command(at, command));
            }
            93..98 => {
                let odd = Odd::draw(&mut self.random);
                self.add(Step::Line(odd));
            }
            98 => self.add(Step::AnswerNothing),
            _ => self.restart(),
        }
    }

    fn prompt(&mut self, at: u8) {
        let usual = self.choose(&[
            Play::Text,
            Play::Text,
            Play::Hold,
            Play::Fail,
            Play::Edit,
            Play::Edit,
            Play::Edit,
            Play::Pair,
            Play::Pair,
            Play::Reads,
            Play::Touch,
            Play::Command,
            Play::Command,
            Play::Sleep,
            Play::Ask,
            Play::Wrong,
        ]);
        let is_far = self.serves && self.random.u8(0..3) == 0;
        let play = if is_far { Play::Far } else { usual };
        self.add(Step::Prompt(at, play));
        if self.random.u8(0..10) >= self.hurry {
            self.add(Step::Await(at));
            while self.random.u8(0..10) < 6 {
                self.answer();
                if self.random.bool() {
                    self.add(Step::Await(at));
                }
            }
        }
    }

    fn answer(&mut self) {
        let pick = self.random.u8(..);
        let step = match self.random.u8(0..24) {
            0..10 => Step::Answer(pick, Manner::Well),
            10 => Step::Answer(pick, Manner::AllowAlways),
            11..14 => Step::Answer(pick, Manner::Reject),
            14 => Step::Answer(pick, Manner::Cancelled),
            15 => Step::Answer(pick, Manner::UnknownOption),
            16 => Step::Answer(pick, Manner::Senseless),
            17 => Step::Answer(pick, Manner::Error),
            18 => Step::Answer(pick, Manner::AllowThenReject),
            19 => Step::Answer(pick, Manner::RejectThenAllow),
            _ => Step::AnswerAgain(pick),
        };
        self.add(step);
    }

    fn open(&mut self, at: u8) {
        let step = match self.random.u8(0..3) {
            0 => Step::Resume(at),
            _ => Step::Load(at),
        };
        self.add(step);
        if self.random.bool() {
            self.add(Step::Settle);
        }
    }

    fn session(&mut self, at: u8) {
        let modes: &[&str] = if self.is_loose {
            &["plan", "default", "accept_edits", "dont_ask"]
        } else {
            &["plan", "default", "default"]
        };
        let mode = self.choose(modes);
        let step = match self.random.u8(0..14) {
            0..3 => Step::New,
            3 => Step::Fork(at),
            4 => Step::List,
            5 | 6 => Step::Close(at),
            7 => Step::Delete(at),
            8 | 9 => Step::SetMode(at, mode),
            10 | 11 => Step::SetOption(at, mode),
            _ => Step::Settle,
        };
        self.add(step);
        if self.random.bool() {
            self.add(Step::Settle);
        }
    }

    fn restart(&mut self) {
        let kills = self.ground == Ground::Binary && self.random.bool();
        self.add(if kills { Step::Kill } else { Step::Restart });
        for at in 0..3 {
            if self.random.bool() {
                self.add(Step::Load(at));
            }
        }
    }

    fn choose<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.random.usize(..these.len())]
    }

    fn add(&mut self, step: Step) {
        self.steps.push(step);
    }
}
