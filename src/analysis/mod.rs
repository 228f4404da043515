//! Batches to typed results: pure, no I/O, no SQL.
//! In: batches of the tables. Out: what they mean. Left to neighbours: reading (`load`), claims (`evidence`).

pub mod correlation;
pub mod health;
pub mod statistics;
