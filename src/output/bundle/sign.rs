//! Signatures over a bundle's identity: an in-toto statement in a DSSE envelope, signed with Ed25519.
//! In: keys as OpenSSL writes them (PEM), an identity, an envelope. Out: an envelope, or who signed. Left to neighbours:
//! whether the bundle has that identity (`load::bundle`).
//!
//! Envelope: <https://github.com/secure-systems-lab/dsse/blob/v1.0.2/envelope.md>; statement:
//! <https://github.com/in-toto/attestation/blob/v1.0/spec/v1.0/statement.md>.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::pkcs8::spki::DecodePublicKey;
use ed25519_dalek::pkcs8::{DecodePrivateKey, EncodePublicKey};
use ed25519_dalek::{Signature, Signer, VerifyingKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::derived::json_bytes;
use crate::error::{Error, Result, one_line};
use crate::load::bundle::{BUNDLE_SCHEMA, Verified, layout, sha256};

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// What the statement is about.
const PREDICATE: &str = "urn:candle-graph:bundle:2";
/// Largest key file.
const LARGEST_KEY: u64 = 16 << 10;

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

/// What is known of a bundle's signature.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SignatureOut {
    /// `unsigned`; `not_checked`: signed, and no key was given to check by; `verified`: signed by the given key.
    pub status: &'static str,
    /// SHA-256 of the signer's public key (SubjectPublicKeyInfo, DER) as the envelope states it.
    pub keyid: Option<String>,
}

/// A key that signs.
pub struct SigningKey(ed25519_dalek::SigningKey);

fn read_key(path: &Path) -> Result<String> {
    let size = std::fs::metadata(path).map_err(Error::io("open", path))?.len();
    if size > LARGEST_KEY {
        return Err(Error::input(path, "is too large for a key"));
    }
    std::fs::read_to_string(path).map_err(Error::io("read", path))
}

impl SigningKey {
    /// Reads a private key: PEM, PKCS#8, not encrypted.
    ///
    /// # Errors
    /// What the file is instead.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_key(path)?;
        ed25519_dalek::SigningKey::from_pkcs8_pem(&text).map(Self).map_err(|e| {
            let what = if text.contains("ENCRYPTED") { "is an encrypted key" } else { "is no Ed25519 private key" };
            let how = "`openssl genpkey -algorithm ed25519 -out FILE` makes one";
            Error::input(path, format!("{what} ({}); {how}", one_line(&e.to_string())))
        })
    }
}

/// Reads a public key: PEM, SubjectPublicKeyInfo.
fn read_public(path: &Path) -> Result<VerifyingKey> {
    VerifyingKey::from_public_key_pem(&read_key(path)?).map_err(|e| {
        let how = "`openssl pkey -in PRIVATE -pubout -out FILE` writes one";
        Error::input(path, format!("is no Ed25519 public key ({}); {how}", one_line(&e.to_string())))
    })
}

fn keyid(key: &VerifyingKey) -> String {
    key.to_public_key_der().map(|der| sha256(der.as_bytes())).unwrap_or_default()
}

/// DSSE's pre-authentication encoding: what is signed.
fn encoded(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

fn statement(run_id: &str, identity: &str) -> Value {
    json!({
        "_type": STATEMENT,
        "subject": [{"name": layout::MANIFEST, "digest": {"sha256": identity}}],
        "predicateType": PREDICATE,
        "predicate": {"bundle_schema": BUNDLE_SCHEMA, "run_id": run_id},
    })
}

/// The envelope that signs the bundle of this identity. Ed25519 draws no random number: the same key gives the same bytes.
pub(super) fn envelope(key: &SigningKey, run_id: &str, identity: &str) -> Vec<u8> {
    let payload = statement(run_id, identity).to_string().into_bytes();
    let signature = key.0.sign(&encoded(&payload));
    json_bytes(&Envelope {
        payload: STANDARD.encode(&payload),
        payload_type: PAYLOAD_TYPE.to_owned(),
        signatures: vec![Signed { keyid: keyid(&key.0.verifying_key()), sig: STANDARD.encode(signature.to_bytes()) }],
    })
}

/// Checks the signature of a verified bundle: that it signs this bundle, and with `required`, that this key made it.
pub(super) fn check(dir: &Path, bundle: &Verified, required: Option<&Path>) -> Result<SignatureOut> {
    let path = dir.join(layout::SIGNATURE);
    let wrong = |problem: &str| Error::input(&path, problem);
    let Some(bytes) = &bundle.signature else {
        return match required {
            None => Ok(SignatureOut { status: "unsigned", keyid: None }),
            Some(_) => Err(Error::input(dir, "is not signed; `report --sign KEYFILE` publishes a signed bundle")),
        };
    };
    let envelope: Envelope = serde_json::from_slice(bytes)
        .map_err(|e| wrong(&format!("is no signature of a bundle ({})", one_line(&e.to_string()))))?;
    let payload = STANDARD.decode(&envelope.payload).map_err(|_| wrong("has a payload that is no base64"))?;
    let stated: Value = serde_json::from_slice(&payload).map_err(|_| wrong("signs something that is no statement"))?;
    if envelope.payload_type != PAYLOAD_TYPE || stated != statement(&bundle.manifest.run_id, &bundle.identity) {
        return Err(wrong("signs something else than this bundle"));
    }
    let [signed] = envelope.signatures.as_slice() else { return Err(wrong("holds not exactly one signature")) };
    if json_bytes(&envelope) != *bytes {
        return Err(wrong("was changed: its bytes are not those that the same signature always has"));
    }
    let Some(key_path) = required else {
        return Ok(SignatureOut { status: "not_checked", keyid: Some(signed.keyid.clone()) });
    };
    let key = read_public(key_path)?;
    let signature = STANDARD.decode(&signed.sig).ok().and_then(|s| Signature::from_slice(&s).ok());
    let good = signature.is_some_and(|s| key.verify_strict(&encoded(&payload), &s).is_ok());
    if !good || signed.keyid != keyid(&key) {
        return Err(wrong(&format!("was not made with the key of {}", key_path.display())));
    }
    Ok(SignatureOut { status: "verified", keyid: Some(signed.keyid.clone()) })
}
