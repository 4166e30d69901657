//! The subset of TOML that most scenarios use, as a tree that borrows the text.

/// A table with unique keys.
#[derive(Debug, Default)]
pub struct Table<'t>(Vec<Entry<'t>>);

#[derive(Debug)]
struct Entry<'t> {
    key: &'t str,
    value: Value<'t>,
    /// Whether it has a header, so that other headers may extend it.
    headed: bool,
}

/// The value of a key.
#[derive(Debug)]
pub enum Value<'t> {
    /// A string without escapes.
    Text(&'t str),
    /// A number or a boolean, as written.
    Word(&'t str),
    /// An array, or an array of tables.
    List(Vec<Value<'t>>),
    /// A table, with a header or inline.
    Table(Table<'t>),
}

impl<'t> Table<'t> {
    /// Parses a whole text. `None` if it is not TOML, or uses more of it than is supported.
    pub fn read(text: &'t str) -> Option<Self> {
        let mut root = Self::default();
        let mut table = &mut root;
        let mut cursor = Cursor(text);
        loop {
            cursor.skip_lines();
            if cursor.0.is_empty() {
                return Some(root);
            }
            if cursor.eat("[") {
                let many = cursor.eat("[");
                table = &mut root;
                loop {
                    let key = cursor.word()?;
                    if !cursor.eat(".") {
                        table = if many { table.append(key)? } else { table.open(key, true)? };
                        break;
                    }
                    table = table.open(key, false)?;
                }
                cursor.eat(if many { "]]" } else { "]" }).then_some(())?;
            } else {
                let (key, value) = cursor.pair()?;
                table.put(key, value, false)?;
            }
            cursor.end_line()?;
        }
    }

    /// Removes a value.
    pub fn take(&mut self, key: &str) -> Option<Value<'t>> {
        let at = self.find(key)?;
        Some(self.0.swap_remove(at).value)
    }

    /// Whether everything has been removed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&self, key: &str) -> Option<usize> {
        self.0.iter().position(|entry| entry.key == key)
    }

    fn put(&mut self, key: &'t str, value: Value<'t>, headed: bool) -> Option<&mut Value<'t>> {
        if self.find(key).is_some() {
            return None;
        }
        self.0.push(Entry { key, value, headed });
        self.0.last_mut().map(|entry| &mut entry.value)
    }

    /// The value of a key in a header.
    fn headed(&mut self, key: &'t str, blank: Value<'t>) -> Option<&mut Value<'t>> {
        match self.find(key) {
            Some(at) => self.0[at].headed.then_some(&mut self.0[at].value),
            None => self.put(key, blank, true),
        }
    }

    /// The table of a name. A `new` one must not exist yet.
    fn open(&mut self, key: &'t str, new: bool) -> Option<&mut Self> {
        if new && self.find(key).is_some() {
            return None;
        }
        let Value::Table(table) = self.headed(key, Value::Table(Self::default()))? else {
            return None;
        };
        Some(table)
    }

    /// Adds a table to an array of tables.
    fn append(&mut self, key: &'t str) -> Option<&mut Self> {
        let Value::List(tables) = self.headed(key, Value::List(Vec::new()))? else { return None };
        tables.push(Value::Table(Self::default()));
        let Value::Table(table) = tables.last_mut()? else { return None };
        Some(table)
    }
}

/// The rest of the text.
struct Cursor<'t>(&'t str);

impl<'t> Cursor<'t> {
    fn eat(&mut self, token: &str) -> bool {
        self.skip_spaces();
        let rest = self.0.strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// The longest prefix of such bytes, which are all ASCII.
    fn span(&mut self, of: impl Fn(u8) -> bool) -> &'t str {
        let end = self.0.bytes().position(|byte| !of(byte)).unwrap_or(self.0.len());
        let (span, rest) = self.0.split_at_checked(end).unwrap_or_default();
        self.0 = rest;
        span
    }

    fn skip_spaces(&mut self) {
        self.span(|byte| matches!(byte, b' ' | b'\t'));
    }

    fn skip_comment(&mut self) {
        if self.eat("#") {
            self.0 = self.0.split_once('\n').map_or("", |lines| lines.1);
        }
    }

    fn skip_lines(&mut self) {
        while !self.span(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).is_empty()
            || self.0.starts_with('#')
        {
            self.skip_comment();
        }
    }

    fn end_line(&mut self) -> Option<()> {
        self.skip_comment();
        self.skip_spaces();
        (self.0.is_empty() || self.0.starts_with(['\r', '\n'])).then_some(())
    }

    /// A bare key, or the characters of a number or boolean without points.
    fn word(&mut self) -> Option<&'t str> {
        self.skip_spaces();
        let word = self.span(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        (!word.is_empty()).then_some(word)
    }

    fn pair(&mut self) -> Option<(&'t str, Value<'t>)> {
        let key = self.word()?;
        self.eat("=").then_some(())?;
        Some((key, self.value()?))
    }

    fn value(&mut self) -> Option<Value<'t>> {
        for (open, quote) in [("\"", '"'), ("'", '\'')] {
            if self.eat(open) {
                let (text, rest) = self.0.split_once(quote)?;
                self.0 = rest;
                let plain = text.bytes().all(|byte| byte >= b' ' && byte != b'\\');
                // Three quotes begin a multi-line string.
                return (plain && !rest.starts_with(quote)).then_some(Value::Text(text));
            }
        }
        if self.eat("[") {
            let mut list = Vec::new();
            loop {
                self.skip_lines();
                if self.eat("]") {
                    return Some(Value::List(list));
                }
                list.push(self.value()?);
                self.skip_lines();
                if !self.eat(",") && !self.0.starts_with(']') {
                    return None;
                }
            }
        }
        if self.eat("{") {
            let mut table = Table::default();
            loop {
                if self.eat("}") {
                    return Some(Value::Table(table));
                }
                let (key, value) = self.pair()?;
                table.put(key, value, false)?;
                if !self.eat(",") && !self.0.starts_with('}') {
                    return None;
                }
            }
        }
        let word = self.span(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
        (!word.is_empty()).then_some(Value::Word(word))
    }
}
