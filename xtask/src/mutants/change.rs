//! Finds the places of a source file that can be changed, and writes a variant of the file that
//! contains every change. `crate::mutant` (see `tree.rs`) says at run time which one is active, so
//! that all changes share one build.

use std::collections::BTreeSet;
use std::ops::Range;

use anyhow::{Context, Result};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ReturnType, Signature, Type, UnOp};

/// A change of one place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// The number that activates it. Numbers start at 1.
    pub number: u32,
    pub line: usize,
    /// What is changed and in which function, such as `replace < with <= in Rate::of`.
    pub name: String,
    /// What the place contains instead.
    code: String,
}

/// A place and its changes.
#[derive(Debug)]
struct Place {
    range: Range<usize>,
    form: Form,
    changes: Vec<Change>,
}

/// How a place is written.
#[derive(Debug)]
enum Form {
    /// Before the first statement of a function, which returns a value at once.
    Body,
    /// Operands are evaluated once, and taken by reference where they may not be `Copy`.
    Binary {
        left: Range<usize>,
        right: Range<usize>,
        op: &'static str,
        by: &'static str,
    },
    /// `&&` or `||`, which evaluate the right operand only if necessary.
    Logic {
        left: Range<usize>,
        right: Range<usize>,
        and: bool,
    },
    Assign {
        left: Range<usize>,
        right: Range<usize>,
        op: &'static str,
    },
    Unary {
        operand: Range<usize>,
        op: &'static str,
    },
    Method {
        receiver: Range<usize>,
        argument: Range<usize>,
        method: String,
    },
    /// After the pattern of a match arm that another arm covers.
    Arm,
    Guard,
}

/// A source file with its places in order; a place comes before those that it contains.
#[derive(Debug)]
pub struct Source {
    text: String,
    numbers: Range<u32>,
    places: Vec<Place>,
}

impl Source {
    /// Reads a file, and numbers its changes from `first`.
    pub fn read(text: String, first: u32) -> Result<Self> {
        let file = syn::parse_file(&text).context("this is not Rust")?;
        let mut finder = Finder { places: Vec::new(), next: first, owner: None, function: None };
        finder.visit_file(&file);
        let numbers = first..finder.next;
        let mut places = finder.places;
        places.sort_by_key(|place| (place.range.start, usize::MAX - place.range.end));
        Ok(Self { text, numbers, places })
    }

    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.places.iter().flat_map(|place| &place.changes)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The numbers of this file's changes.
    pub fn numbers(&self) -> Range<u32> {
        self.numbers.clone()
    }

    /// The numbers of each place's changes.
    pub fn places(&self) -> impl Iterator<Item = Vec<u32>> {
        self.places.iter().map(|place| place.changes.iter().map(|change| change.number).collect())
    }

    /// The number that a test records when it reaches this change.
    pub fn recorded_as(&self, change: u32, without: &BTreeSet<u32>) -> u32 {
        let place = self.places.iter().find(|p| p.changes.iter().any(|c| c.number == change));
        let first = place.filter(|place| !matches!(place.form, Form::Body)).and_then(|place| {
            place.changes.iter().map(|c| c.number).find(|number| !without.contains(number))
        });
        first.unwrap_or(change)
    }

    /// The file with all changes except those in `without`.
    pub fn write(&self, without: &BTreeSet<u32>) -> String {
        self.part(0..self.text.len(), 0, without)
    }

    /// A part of the file, with the places from `from` on.
    fn part(&self, range: Range<usize>, from: usize, without: &BTreeSet<u32>) -> String {
        let (mut written, mut at) = (String::new(), range.start);
        for (index, place) in self.places.iter().enumerate().skip(from) {
            if place.range.start < at || place.range.end > range.end {
                continue;
            }
            let changes: Vec<&Change> =
                place.changes.iter().filter(|change| !without.contains(&change.number)).collect();
            let Some(first) = changes.first() else { continue };
            written.push_str(&self.text[at..place.range.start]);
            let part = |part: &Range<usize>| self.part(part.clone(), index + 1, without);
            written.push_str(&place.form.write(first.number, &changes, &place.range, part));
            at = place.range.end;
        }
        written.push_str(&self.text[at..range.end]);
        written
    }
}

impl Form {
    /// The place with its changes. Comments delimit each change and each place, for `culprits`.
    fn write(
        &self,
        first: u32,
        changes: &[&Change],
        range: &Range<usize>,
        part: impl Fn(&Range<usize>) -> String,
    ) -> String {
        // The arms of a match on the active change.
        let arms = |with: &dyn Fn(&str) -> String, original: &str| {
            let arm = |change: &&Change| {
                let number = change.number;
                format!("/*[{number}*/{number} => {},/*]*/ ", with(&change.code))
            };
            let arms: String = changes.iter().map(arm).collect();
            format!("match crate::mutant::at({first}) {{ {arms}_ => {} }}", with(original))
        };
        let place = |text: String| format!("/*[{first}+*/{text}/*]*/");
        match self {
            Self::Body => changes
                .iter()
                .map(|Change { number, code, .. }| {
                    format!(
                        "/*[{number}*/ if crate::mutant::is({number}) {{ return {code}; }} /*]*/"
                    )
                })
                .collect(),
            Self::Binary { left, right, op, by } => {
                let choice = arms(&|op| format!("a {op} b"), op);
                let (left, right) = (part(left), part(right));
                place(format!("(match ({by}({left}), {by}({right})) {{ (a, b) => {choice} }})"))
            }
            Self::Logic { left, right, and } => {
                let (left, right) = (part(left), part(right));
                let (compare, other) = if *and { ("!=", "") } else { ("==", "!") };
                place(format!(
                    "(if ({left}) {compare} crate::mutant::is({first}) {{ {right} }} \
                     else {{ {other}crate::mutant::is({first}) }})"
                ))
            }
            Self::Assign { left, right, op } => {
                let (left, right) = (part(left), part(right));
                place(arms(&|op| format!("{left} {op} {right}"), op))
            }
            Self::Unary { operand, op } => {
                let choice = arms(&|op| format!("{op}a"), op);
                place(format!("(match {} {{ a => {choice} }})", part(operand)))
            }
            Self::Method { receiver, argument, method } => {
                // A reference to an integer must not move.
                let (receiver, argument) = (part(receiver), part(argument));
                if receiver.chars().all(|c| c.is_alphanumeric() || "_.".contains(c)) {
                    let choice = arms(&|method| format!("{receiver}.{method}(b)"), method);
                    return place(format!("(match {argument} {{ b => {choice} }})"));
                }
                let choice = arms(&|method| format!("a.{method}(b)"), method);
                place(format!("(match ({receiver}, {argument}) {{ (a, b) => {choice} }})"))
            }
            Self::Arm => place(format!(" if !crate::mutant::is({first})")),
            Self::Guard => place(format!("(crate::mutant::is({first}) || {})", part(range))),
        }
    }
}

/// The changes that a compiler error at `offset` of a written file comes from: the innermost change,
/// or all changes of the innermost place.
pub fn culprits(written: &str, offset: usize, changes: &[Vec<u32>]) -> Vec<u32> {
    let mut open = Vec::new();
    let mut rest = written.get(..offset).unwrap_or(written);
    while let Some(start) = rest.find("/*") {
        rest = &rest[start + 2..];
        if let Some(number) = rest.strip_prefix('[').and_then(|rest| rest.split_once("*/")) {
            open.push(number.0);
        } else if rest.starts_with("]*/") {
            open.pop();
        }
    }
    match open.last().map(|open| (open.trim_end_matches('+'), open.ends_with('+'))) {
        Some((number, whole)) => {
            let Ok(number) = number.parse() else { return Vec::new() };
            let place = changes.iter().find(|place| place.contains(&number));
            if whole { place.cloned().unwrap_or_default() } else { vec![number] }
        }
        None => Vec::new(),
    }
}

struct Finder {
    places: Vec<Place>,
    next: u32,
    /// The type whose `impl` this is, or `<impl Trait for Type>`.
    owner: Option<String>,
    function: Option<Function>,
}

#[derive(Clone)]
struct Function {
    name: String,
    is_const: bool,
}

impl Finder {
    fn place<S: AsRef<str>>(
        &mut self,
        range: Range<usize>,
        line: usize,
        form: Form,
        changes: impl IntoIterator<Item = (S, String)>,
    ) {
        let Some(Function { name: function, .. }) = &self.function else { return };
        let mut numbered = Vec::new();
        for (code, name) in changes {
            let name = format!("{name}{function}");
            numbered.push(Change { number: self.next, line, name, code: code.as_ref().to_owned() });
            self.next += 1;
        }
        if !numbered.is_empty() {
            self.places.push(Place { range, form, changes: numbered });
        }
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        let owner = self.owner.iter().map(|owner| format!("{owner}::")).collect::<String>();
        let name = format!("{owner}{}", signature.ident);
        let is_const = signature.constness.is_some();
        let outer = self.function.replace(Function { name: String::new(), is_const });
        if !block.stmts.is_empty() {
            let output = words(&signature.output);
            let at = block.brace_token.span.open().byte_range().end;
            let line = signature.ident.span().start().line;
            let body = words(block);
            let new = values(&signature.output).into_iter().filter(|value| !is_same(&body, value));
            let changes = new.map(|value| {
                let label = format!("replace {name}{output} with {value}");
                (value, label)
            });
            self.place(at..at, line, Form::Body, changes.collect::<Vec<_>>());
        }
        self.function = Some(Function { name: format!(" in {name}"), is_const });
        visit::visit_block(self, block);
        self.function = outer;
    }

    fn is_const(&self) -> bool {
        self.function.as_ref().is_some_and(|function| function.is_const)
    }
}

/// A span's source, in the words of the compiler's tokens.
fn words(spanned: &(impl Spanned + ?Sized)) -> String {
    let text = spanned.span().source_text().unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() { text } else { format!(" {text}") }
}

/// Whether a function's body is this value already.
fn is_same(body: &str, value: &str) -> bool {
    let body = body.trim_matches(|c: char| c.is_whitespace() || "{}".contains(c));
    body == value || value == "Default::default()" && body.ends_with("::ZERO")
}

fn range(spanned: &impl Spanned) -> Range<usize> {
    spanned.span().byte_range()
}

/// Whether an item with these attributes is part of the library on this machine.
fn is_compiled(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().all(|attribute| {
        let path = attribute.path();
        !path.is_ident("test")
            && (!path.is_ident("cfg")
                || attribute.parse_args::<syn::Meta>().is_ok_and(|meta| holds(&meta)))
    })
}

/// Whether a condition of `cfg` holds on this machine, with all features and outside tests.
fn holds(condition: &syn::Meta) -> bool {
    let list = |list: &syn::MetaList| -> Vec<syn::Meta> {
        let comma = syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
        list.parse_args_with(comma).map(|list| list.into_iter().collect()).unwrap_or_default()
    };
    match condition {
        syn::Meta::List(all) if all.path.is_ident("all") => list(all).iter().all(holds),
        syn::Meta::List(any) if any.path.is_ident("any") => list(any).iter().any(holds),
        syn::Meta::List(not) if not.path.is_ident("not") => !list(not).iter().any(holds),
        syn::Meta::NameValue(pair) if pair.path.is_ident("target_arch") => {
            words(&pair.value).trim().trim_matches('"') == std::env::consts::ARCH
        }
        syn::Meta::NameValue(pair) => pair.path.is_ident("feature"),
        syn::Meta::Path(_) | syn::Meta::List(_) => false,
    }
}

/// Traits whose output no decision depends on, or whose implementation calls itself when changed.
const LEFT_OUT: [&str; 4] = ["Debug", "Display", "Default", "Format"];

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if is_compiled(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_compiled(&item.attrs) {
            return;
        }
        let of = words(&item.self_ty);
        let of = of.trim().split('<').next().unwrap_or_default().to_owned();
        let owner = match &item.trait_ {
            Some((path, _)) => {
                let is = |name: &&str| path.segments.last().is_some_and(|last| last.ident == name);
                if LEFT_OUT.iter().any(is) {
                    return;
                }
                format!("<impl{} for {of}>", words(path))
            }
            None => of,
        };
        let outer = self.owner.replace(owner);
        visit::visit_item_impl(self, item);
        self.owner = outer;
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let outer = self.owner.replace(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.owner = outer;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_compiled(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_compiled(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = item.default.as_ref().filter(|_| is_compiled(&item.attrs)) {
            self.function(&item.sig, block);
        }
    }

    // Evaluated by the compiler, where no change is active.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let syn::Pat::Guard(syn::PatGuard { guard, .. }) = &arm.pat {
            if !has_let(guard) {
                let label = format!("replace match guard{} with true", words(guard));
                let line = guard.span().start().line;
                self.place(range(guard), line, Form::Guard, [("", label)]);
            }
            self.visit_expr(guard);
        }
        self.visit_expr(&arm.body);
    }

    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        self.visit_expr(&expr.expr);
        let wild = expr.arms.iter().position(|arm| matches!(arm.pat, syn::Pat::Wild(_)));
        for (index, arm) in expr.arms.iter().enumerate() {
            if wild.is_some_and(|wild| index < wild) && !matches!(arm.pat, syn::Pat::Guard(_)) {
                let end = range(&arm.pat).end;
                let label = format!("delete match arm{}", words(&arm.pat));
                let line = arm.pat.span().start().line;
                self.place(end..end, line, Form::Arm, [("", label)]);
            }
            self.visit_arm(arm);
        }
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let op = match unary.op {
            UnOp::Not(_) => "!",
            UnOp::Neg(_) if !matches!(*unary.expr, Expr::Lit(_)) => "-",
            _ => "",
        };
        if !op.is_empty() {
            let form = Form::Unary { operand: range(&unary.expr), op };
            let line = unary.span().start().line;
            self.place(range(unary), line, form, [("", format!("delete {op}"))]);
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let (Some(argument), 1) = (call.args.first(), call.args.len()) {
            let method = call.method.to_string();
            let others = methods(&method);
            let changes: Vec<_> = others
                .iter()
                .map(|other| (*other, format!("replace {method} with {other}")))
                .collect();
            let (receiver, argument) = (range(&call.receiver), range(argument));
            let form = Form::Method { receiver, argument, method };
            self.place(range(call), call.method.span().start().line, form, changes);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let (left, right) = (range(&binary.left), range(&binary.right));
        let (op, others) = operators(&binary.op);
        let changes: Vec<_> =
            others.iter().map(|other| (*other, format!("replace {op} with {other}"))).collect();
        let form = match op {
            "&&" | "||" if has_let(&binary.left) || has_let(&binary.right) => None,
            "&&" | "||" => Some(Form::Logic { left, right, and: op == "&&" }),
            "==" | "!=" | "<" | ">" | "<=" | ">=" => {
                let by = if self.is_const() { "" } else { "&" };
                Some(Form::Binary { left, right, op, by })
            }
            _ if op.ends_with('=') => Some(Form::Assign { left, right, op }),
            _ => Some(Form::Binary { left, right, op, by: "" }),
        };
        if let Some(form) = form {
            self.place(range(binary), binary.op.span().start().line, form, changes);
        }
        visit::visit_expr_binary(self, binary);
    }
}

/// Whether an expression is a chain with `let`, which only a condition can contain.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// An operator and what replaces it.
fn operators(op: &BinOp) -> (&'static str, &'static [&'static str]) {
    match op {
        BinOp::Add(_) => ("+", &["-", "*"]),
        BinOp::Sub(_) => ("-", &["+", "/"]),
        BinOp::Mul(_) => ("*", &["+", "/"]),
        BinOp::Div(_) => ("/", &["%", "*"]),
        BinOp::Rem(_) => ("%", &["/", "+"]),
        BinOp::And(_) => ("&&", &["||"]),
        BinOp::Or(_) => ("||", &["&&"]),
        BinOp::BitXor(_) => ("^", &["|", "&"]),
        BinOp::BitAnd(_) => ("&", &["|", "^"]),
        BinOp::BitOr(_) => ("|", &["&", "^"]),
        BinOp::Shl(_) => ("<<", &[">>"]),
        BinOp::Shr(_) => (">>", &["<<"]),
        BinOp::Eq(_) => ("==", &["!="]),
        BinOp::Ne(_) => ("!=", &["=="]),
        BinOp::Lt(_) => ("<", &["==", ">", "<="]),
        BinOp::Gt(_) => (">", &["==", "<", ">="]),
        BinOp::Le(_) => ("<=", &[">", "<"]),
        BinOp::Ge(_) => (">=", &["<", ">"]),
        BinOp::AddAssign(_) => ("+=", &["-=", "*="]),
        BinOp::SubAssign(_) => ("-=", &["+=", "/="]),
        BinOp::MulAssign(_) => ("*=", &["+=", "/="]),
        BinOp::DivAssign(_) => ("/=", &["%=", "*="]),
        BinOp::RemAssign(_) => ("%=", &["/=", "+="]),
        BinOp::BitXorAssign(_) => ("^=", &["|=", "&="]),
        BinOp::BitAndAssign(_) => ("&=", &["|="]),
        BinOp::BitOrAssign(_) => ("|=", &["&=", "^="]),
        BinOp::ShlAssign(_) => ("<<=", &[">>="]),
        BinOp::ShrAssign(_) => (">>=", &["<<="]),
        _ => ("", &[]),
    }
}

/// Core avoids the operators that can overflow, so its arithmetic is in these methods.
fn methods(method: &str) -> &'static [&'static str] {
    match method {
        "min" => &["max"],
        "max" => &["min"],
        "saturating_add" => &["saturating_sub"],
        "saturating_sub" => &["saturating_add"],
        "saturating_mul" => &["saturating_add"],
        "wrapping_add" => &["wrapping_sub"],
        "wrapping_sub" => &["wrapping_add"],
        "wrapping_mul" => &["wrapping_add"],
        "checked_add" => &["checked_sub"],
        "checked_sub" => &["checked_add"],
        "checked_mul" => &["checked_add"],
        "checked_div" => &["checked_mul"],
        "div_ceil" => &["saturating_div"],
        _ => &[],
    }
}

/// The values that a function may return at once.
fn values(output: &ReturnType) -> Vec<String> {
    match output {
        ReturnType::Default => vec!["()".into()],
        ReturnType::Type(_, of) => values_of(of),
    }
}

fn values_of(of: &Type) -> Vec<String> {
    match of {
        Type::Tuple(tuple) => tuple
            .elems
            .iter()
            .fold(vec!["(".to_owned()], |made, of| {
                let each = values_of(of);
                let join =
                    |made: &String| each.iter().map(|v| format!("{made}{v}, ")).collect::<Vec<_>>();
                made.iter().flat_map(join).collect()
            })
            .into_iter()
            .map(|made| format!("{})", made.trim_end_matches(", ")))
            .collect(),
        Type::Array(array) => {
            values_of(&array.elem).iter().map(|v| format!("[{v};{}]", words(&array.len))).collect()
        }
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => {
                vec!["\"\"".into(), "\"xyzzy\"".into()]
            }
            _ => Vec::new(),
        },
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            let inner = || match &last.arguments {
                syn::PathArguments::AngleBracketed(list) => match list.args.first() {
                    Some(syn::GenericArgument::Type(of)) => values_of(of),
                    _ => Vec::new(),
                },
                _ => Vec::new(),
            };
            match last.ident.to_string().as_str() {
                "bool" => vec!["true".into(), "false".into()],
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => vec!["0".into(), "1".into()],
                "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => {
                    vec!["0".into(), "1".into(), "-1".into()]
                }
                "NonZeroU64" | "NonZeroU32" | "NonZeroU16" => {
                    vec![format!("core::num::{}::MIN", last.ident)]
                }
                "Option" => {
                    let some = inner().into_iter().map(|value| format!("Some({value})"));
                    core::iter::once("None".to_owned()).chain(some).collect()
                }
                "Result" => inner().into_iter().map(|value| format!("Ok({value})")).collect(),
                _ => vec!["Default::default()".into()],
            }
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Source {
        Source::read(text.to_owned(), 1).unwrap()
    }

    fn names(text: &str) -> Vec<String> {
        read(text).changes().map(|change| change.name.clone()).collect()
    }

    #[test]
    fn each_kind_of_place_is_found_and_named() {
        let cases: &[(&str, &[&str])] = &[
            (
                "fn f() -> bool { g() }",
                &["replace f -> bool with true", "replace f -> bool with false"],
            ),
            (
                "impl A { fn f(&self) -> Option<u8> { g() } }",
                &[
                    "replace A::f -> Option<u8> with None",
                    "replace A::f -> Option<u8> with Some(0)",
                    "replace A::f -> Option<u8> with Some(1)",
                ],
            ),
            ("impl<T> B for A<T> { fn f(&self) { g() } }", &["replace <impl B for A>::f with ()"]),
            (
                "fn f() -> Option<bool> { None }",
                &[
                    "replace f -> Option<bool> with Some(true)",
                    "replace f -> Option<bool> with Some(false)",
                ],
            ),
            ("fn f() -> Span { Span::ZERO }", &[]),
            ("fn f() -> &A { a(x <= 1) }", &["replace <= with > in f", "replace <= with < in f"]),
            ("fn f() -> &A { a(x && y) }", &["replace && with || in f"]),
            ("fn f() -> &A { a(!x, -y, -1) }", &["delete ! in f", "delete - in f"]),
            (
                "fn f() -> &A { x.min(y).max(z) }",
                &["replace max with min in f", "replace min with max in f"],
            ),
            (
                "fn f() -> &A { match x { A | B => a, C if c => b, _ => d } }",
                &["delete match arm A | B in f", "replace match guard c with true in f"],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(names(text), *expected, "{text}");
        }
    }

    #[test]
    fn code_outside_the_build_and_constants_are_not_changed() {
        for text in [
            "const A: u8 = 1 + 1;",
            "fn f() -> &A { const B: u8 = 1 + 1; [0; 1 + 1] }",
            "#[cfg(test)] mod tests { fn f() { 1 + 1 } }",
            "#[test] fn f() { 1 + 1 }",
            "#[cfg(any(target_arch = \"none\", target_arch = \"no\"))] fn f() { 1 + 1 }",
            "impl fmt::Debug for A { fn f() { 1 + 1 } }",
            "fn f() -> &A { if a && let Some(b) = c {} }",
            "fn f() {}",
        ] {
            assert_eq!(names(text), [""; 0], "{text}");
        }
        assert_eq!(names("#[cfg(not(target_arch = \"none\"))] fn f() { g() }").len(), 1);
        assert_eq!(names("#[cfg(feature = \"any\")] fn f() { g() }").len(), 1);
    }

    #[test]
    fn a_change_that_does_not_compile_is_found_by_its_error_and_omitted() {
        let source = read("fn f() -> &A { a + b + c }");
        let places: Vec<Vec<u32>> = source.places().collect();
        let written = source.write(&BTreeSet::new());
        // The outer sum is `(a + b) + c`, and its first change is number 1.
        let inner = written.find("4 => a * b").unwrap();
        assert_eq!(culprits(&written, inner + 8, &places), [4]);
        let operand = written.rfind("(c)").unwrap();
        assert_eq!(culprits(&written, operand, &places), [1, 2]);
        assert_eq!(culprits(&written, 3, &places), [0; 0]);
        let all: BTreeSet<u32> = (1..=4).collect();
        assert_eq!(source.write(&all), "fn f() -> &A { a + b + c }");
    }

    /// Evaluates the output of `write` for operators by hand. In `tree` the compiler checks the rest.
    #[test]
    fn logic_evaluates_its_right_operand_only_if_necessary() {
        let source = read("fn f() -> &A { a && b || c }");
        let written = source.write(&BTreeSet::new());
        assert!(written.contains("== crate::mutant::is(1) { c } else { !crate::mutant::is(1) }"));
        assert!(written.contains("!= crate::mutant::is(2) { b } else { crate::mutant::is(2) }"));
    }
}
