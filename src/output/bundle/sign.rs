//! Keys: signing the identity of a bundle, and asking who signed one.
//! In: keys as OpenSSL writes them (PEM). Out: an envelope, or whose it is. Left to neighbours: the envelope itself
//! (`load::bundle`).

use std::path::Path;

use ed25519_dalek::pkcs8::DecodePrivateKey;
use ed25519_dalek::pkcs8::spki::DecodePublicKey;
use ed25519_dalek::{Signer, VerifyingKey};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::load::bundle::{Verified, layout, signature};

/// Largest key file.
const LARGEST_KEY: u64 = 16 << 10;

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
    let metadata = std::fs::metadata(path).map_err(Error::io("open", path))?;
    if !metadata.is_file() || metadata.len() > LARGEST_KEY {
        return Err(Error::input(path, "is no key file"));
    }
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    String::from_utf8(bytes).map_err(|_| Error::input(path, "is no PEM file; OpenSSL writes keys in that form"))
}

impl SigningKey {
    /// Reads a private key: PEM, PKCS#8, not encrypted.
    ///
    /// # Errors
    /// What the file is instead.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_key(path)?;
        ed25519_dalek::SigningKey::from_pkcs8_pem(&text).map(Self).map_err(|_| {
            let problem = if text.contains("ENCRYPTED") {
                "is encrypted; `openssl pkey -in FILE -out OTHER` writes the key without its passphrase"
            } else if text.contains("PUBLIC KEY") {
                "is a public key; the private key signs"
            } else {
                "is no Ed25519 private key; `openssl genpkey -algorithm ed25519 -out FILE` makes one"
            };
            Error::input(path, problem)
        })
    }

    /// SHA-256 of its public key.
    pub(super) fn keyid(&self) -> String {
        signature::keyid(&self.0.verifying_key())
    }
}

/// Reads a public key: PEM, SubjectPublicKeyInfo.
fn read_public(path: &Path) -> Result<VerifyingKey> {
    let text = read_key(path)?;
    VerifyingKey::from_public_key_pem(&text).map_err(|_| {
        let problem = if text.contains("PRIVATE KEY") {
            "is a private key; `openssl pkey -in FILE -pubout -out OTHER` writes its public key"
        } else {
            "is no Ed25519 public key; `openssl pkey -in PRIVATE -pubout -out FILE` writes one"
        };
        Error::input(path, problem)
    })
}

/// The envelope that signs the bundle of this identity. Ed25519 draws no random number: the same key gives the same bytes.
pub(super) fn envelope(key: &SigningKey, run_id: &str, identity: &str) -> Vec<u8> {
    let payload = signature::statement(run_id, identity, &key.0.verifying_key()).to_string().into_bytes();
    let signed = key.0.sign(&signature::encoded(&payload));
    signature::envelope(&payload, &key.keyid(), &signed.to_bytes())
}

/// What is known of the signature of a verified bundle; with `required`, that this key made it.
pub(super) fn check(dir: &Path, bundle: &Verified, required: Option<&Path>) -> Result<SignatureOut> {
    let key = required.map(|path| Ok::<_, Error>((path, read_public(path)?))).transpose()?;
    match (&bundle.signature, key) {
        (None, None) => Ok(SignatureOut { status: "unsigned", keyid: None }),
        (None, Some(_)) => Err(Error::input(dir, "is not signed; `report --sign KEYFILE` publishes a signed bundle")),
        (Some(signature), None) => Ok(SignatureOut { status: "not_checked", keyid: Some(signature.keyid.clone()) }),
        (Some(signature), Some((_, key))) if signature.is_by(&key) => {
            Ok(SignatureOut { status: "verified", keyid: Some(signature.keyid.clone()) })
        }
        (Some(_), Some((path, _))) => {
            let problem = format!("was not made with the key of {}", path.display());
            Err(Error::input(dir.join(layout::SIGNATURE), problem))
        }
    }
}
