//! `signature.json`: an in-toto statement about a manifest in a DSSE envelope, signed with Ed25519.
//! In: the bytes of an envelope, an identity. Out: who signed, as the envelope states it, or what is wrong. Left to
//! neighbours: making one (`output::bundle`).
//!
//! Envelope: <https://github.com/secure-systems-lab/dsse/blob/v1.0.2/envelope.md>; statement:
//! <https://github.com/in-toto/attestation/blob/v1.0/spec/v1.0/statement.md>.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::pkcs8::EncodePublicKey;
use ed25519_dalek::pkcs8::spki::DecodePublicKey;
use ed25519_dalek::{Signature as Ed25519, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::manifest::{BUNDLE_SCHEMA, layout, sha256};
use crate::error::{Error, Result, one_line};

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// What the statement is about.
const PREDICATE: &str = "urn:candle-graph:bundle:2";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    payload: String,
    #[serde(rename = "payloadType")]
    payload_type: String,
    signatures: Vec<Signed>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    keyid: String,
    sig: String,
}

/// The signature of a bundle: it signs this one, but nobody has checked with which key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The bytes of the envelope.
    pub bytes: Vec<u8>,
    /// SHA-256 of the signer's public key (SubjectPublicKeyInfo, DER), as the envelope states it.
    pub keyid: String,
    payload: Vec<u8>,
    signature: String,
}

/// SHA-256 of a public key as SubjectPublicKeyInfo.
pub fn keyid(key: &VerifyingKey) -> String {
    key.to_public_key_der().map(|der| sha256(der.as_bytes())).unwrap_or_default()
}

/// The statement about the bundle of this identity. It names the key, so that a damaged signature is found without it.
pub fn statement(run_id: &str, identity: &str, key: &VerifyingKey) -> Value {
    let der = key.to_public_key_der().map(|der| STANDARD.encode(der.as_bytes())).unwrap_or_default();
    json!({
        "_type": STATEMENT,
        "subject": [{"name": layout::MANIFEST, "digest": {"sha256": identity}}],
        "predicateType": PREDICATE,
        "predicate": {"bundle_schema": BUNDLE_SCHEMA, "run_id": run_id, "public_key": der},
    })
}

/// DSSE's pre-authentication encoding: what is signed.
pub fn encoded(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// The canonical bytes of an envelope.
pub fn envelope(payload: &[u8], keyid: &str, signature: &[u8]) -> Vec<u8> {
    let signed = Signed { keyid: keyid.to_owned(), sig: STANDARD.encode(signature) };
    bytes_of(&Envelope {
        payload: STANDARD.encode(payload),
        payload_type: PAYLOAD_TYPE.to_owned(),
        signatures: vec![signed],
    })
}

fn bytes_of(envelope: &Envelope) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(envelope).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

impl Signature {
    /// Reads an envelope that lies beside the manifest of this run and identity.
    ///
    /// # Errors
    /// An envelope that is none, is not in its canonical bytes, or signs something else.
    pub(super) fn parse(bytes: Vec<u8>, path: &Path, run_id: &str, identity: &str) -> Result<Self> {
        let wrong = |problem: &str| Error::input(path, problem);
        let envelope: Envelope = serde_json::from_slice(&bytes)
            .map_err(|e| wrong(&format!("is no signature of a bundle ({})", one_line(&e.to_string()))))?;
        let payload = STANDARD.decode(&envelope.payload).map_err(|_| wrong("has a payload that is no base64"))?;
        let stated: Value =
            serde_json::from_slice(&payload).map_err(|_| wrong("signs something that is no statement"))?;
        let der = stated["predicate"]["public_key"].as_str().and_then(|text| STANDARD.decode(text).ok());
        let key = der.and_then(|der| VerifyingKey::from_public_key_der(&der).ok());
        let key = key.ok_or_else(|| wrong("names no Ed25519 public key"))?;
        if envelope.payload_type != PAYLOAD_TYPE || stated != statement(run_id, identity, &key) {
            return Err(wrong("signs something else than this bundle"));
        }
        let [signed] = envelope.signatures.as_slice() else { return Err(wrong("holds not exactly one signature")) };
        if bytes_of(&envelope) != bytes {
            return Err(wrong("was changed: its bytes are not those that the same signature always has"));
        }
        let (keyid, signature) = (signed.keyid.clone(), signed.sig.clone());
        let signature = Self { bytes, keyid, payload, signature };
        if !signature.is_by(&key) {
            return Err(wrong("was changed: it was not made with the key that it names"));
        }
        Ok(signature)
    }

    /// Whether this key made it.
    pub fn is_by(&self, key: &VerifyingKey) -> bool {
        let signature = STANDARD.decode(&self.signature).ok().and_then(|s| Ed25519::from_slice(&s).ok());
        let good = signature.is_some_and(|s| key.verify_strict(&encoded(&self.payload), &s).is_ok());
        good && self.keyid == keyid(key)
    }
}
