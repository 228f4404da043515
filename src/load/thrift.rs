//! Just enough of Thrift's compact protocol to see how large a Parquet structure claims to be before it is decoded.
//! In: bytes. Out: numbers, and how far a value reaches. Left to neighbours: what is too large (`guard`).
//!
//! The Parquet library reserves memory for as many list items as a footer names; a footer of 20 bytes can name 2^31.

/// Structures nest three or four deep in Parquet.
const DEPTH: u32 = 16;
/// Items that a list of structures may have: row groups of a file, columns of a row group.
const ITEMS: u64 = 1 << 16;

/// Why bytes are no Thrift structure.
pub(super) type Malformed = &'static str;

/// A position in bytes.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The type of a value, as the compact protocol numbers them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind(u8);

impl Kind {
    pub(super) const STRUCT: Kind = Kind(12);
    const LIST: Kind = Kind(9);

    fn is_int(self) -> bool {
        (4..=6).contains(&self.0)
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = self.bytes.get(self.at).ok_or("ends too early")?;
        self.at += 1;
        Ok(*byte)
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("has a number of more than 64 bits")
    }

    fn zigzag(&mut self) -> Result<i64, Malformed> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn jump(&mut self, bytes: u64) -> Result<(), Malformed> {
        let left = (self.bytes.len() - self.at) as u64;
        if bytes > left {
            return Err("ends too early");
        }
        self.at += bytes as usize;
        Ok(())
    }

    /// Calls `field` for each field of the structure here: its number, its type, the reader at its value. What `field`
    /// does not read (it answers `false`) is skipped.
    pub(super) fn structure(
        &mut self,
        depth: u32,
        field: &mut dyn FnMut(i64, Kind, &mut Self) -> Result<bool, Malformed>,
    ) -> Result<(), Malformed> {
        if depth > DEPTH {
            return Err("nests too deep");
        }
        let mut id = 0_i64;
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Ok(());
            }
            let kind = Kind(header & 0x0f);
            id = match header >> 4 {
                0 => self.zigzag()?,
                delta => id.checked_add(i64::from(delta)).ok_or("has no such field")?,
            };
            if !field(id, kind, self)? {
                self.skip(kind, depth)?;
            }
        }
    }

    /// The integer here.
    pub(super) fn int(&mut self, kind: Kind) -> Result<i64, Malformed> {
        if kind.is_int() { self.zigzag() } else { Err("has text where a number belongs") }
    }

    /// The head of the list here: how many items, of which type.
    pub(super) fn list(&mut self, kind: Kind) -> Result<(u64, Kind), Malformed> {
        if kind != Kind::LIST {
            return Err("has no list where one belongs");
        }
        let header = self.byte()?;
        let items = match header >> 4 {
            15 => self.varint()?,
            few => u64::from(few),
        };
        let item = Kind(header & 0x0f);
        if items > (self.bytes.len() - self.at) as u64 {
            return Err("names more items than it has bytes");
        }
        if item == Kind::STRUCT && items > ITEMS {
            return Err("names more parts than any recorder writes");
        }
        Ok((items, item))
    }

    fn skip(&mut self, kind: Kind, depth: u32) -> Result<(), Malformed> {
        if depth > DEPTH {
            return Err("nests too deep");
        }
        match kind.0 {
            // Booleans are in their field's type; in a list each takes a byte, below.
            1 | 2 => Ok(()),
            3 => self.jump(1),
            4..=6 => self.varint().map(drop),
            7 => self.jump(8),
            8 => {
                let bytes = self.varint()?;
                self.jump(bytes)
            }
            9 | 10 => {
                let (items, item) = self.list(Kind::LIST)?;
                for _ in 0..items {
                    if matches!(item.0, 1 | 2) { self.jump(1)? } else { self.skip(item, depth + 1)? }
                }
                Ok(())
            }
            12 => self.structure(depth + 1, &mut |_, _, _| Ok(false)),
            _ => Err("has a value of an unknown type"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reader;

    #[test]
    fn claims_are_checked_before_they_are_believed() {
        // Field 1, i32, -3; field 2, a list of two bytes; end.
        let bytes = [0x15, 0x05, 0x19, 0x23, 7, 9, 0];
        let mut seen = Vec::new();
        let mut reader = Reader::new(&bytes);
        let read = reader.structure(0, &mut |id, kind, r| {
            if id == 1 {
                seen.push(r.int(kind)?);
            }
            Ok(id == 1)
        });
        assert_eq!((read, seen, reader.at()), (Ok(()), vec![-3], bytes.len()));
        let skip = |bytes: &[u8]| Reader::new(bytes).structure(0, &mut |_, _, _| Ok(false));
        // A list of 2^31 structures in no bytes; text of 2^60 bytes; structures without end.
        assert!(skip(&[0x19, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x08]).is_err());
        assert!(skip(&[0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]).is_err());
        assert_eq!(skip(&[0x1c; 100_000]), Err("nests too deep"));
        assert_eq!(skip(&[0x19; 100_000]), Err("nests too deep"));
    }
}
