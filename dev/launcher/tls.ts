import { X509Certificate, webcrypto } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadX509 } from './x509.ts';

/** Paths of PEM files: the certificate of the authority, and a certificate for `localhost` with its key. */
export type LocalTls = { ca: string; cert: string; key: string };

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;
const VALID_DAYS = 397;
const RENEW_DAYS_BEFORE = 30;

/**
 * Ensures that `folder` contains a certificate for `localhost`, 127.0.0.1 and ::1, signed by an authority for this
 * folder only. Creates it if it is missing or expires within 30 days. The key of the authority is not stored, so that
 * nobody can sign another certificate with it.
 */
export async function ensureLocalTls(folder: string, now = new Date()): Promise<LocalTls> {
  const paths = {
    ca: join(folder, 'ca.pem'),
    cert: join(folder, 'localhost.pem'),
    key: join(folder, 'localhost-key.pem'),
  };
  if (!isUsable(paths, now)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const made = await makeCertificates(now);
    for (const name of ['ca', 'key', 'cert'] as const) {
      writeFileSync(`${paths[name]}.new`, made[name], { mode: 0o600 });
      renameSync(`${paths[name]}.new`, paths[name]);
    }
  }
  return paths;
}

function isUsable(paths: LocalTls, now: Date): boolean {
  if (!Object.values(paths).every((path) => existsSync(path))) return false;
  try {
    const certificate = new X509Certificate(readFileSync(paths.cert));
    return new Date(certificate.validTo).getTime() - now.getTime() > RENEW_DAYS_BEFORE * DAY_MS;
  } catch {
    return false;
  }
}

async function makeCertificates(now: Date): Promise<LocalTls> {
  const x509 = await loadX509();
  const authority = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const period = {
    notBefore: new Date(now.getTime() - DAY_MS),
    notAfter: new Date(now.getTime() + VALID_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
  };
  const issuer = 'CN=Baton local certificate authority';
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    ...period,
    serialNumber: '01',
    name: issuer,
    keys: authority,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(authority.publicKey),
    ],
  });
  const certificate = await x509.X509CertificateGenerator.create({
    ...period,
    serialNumber: '02',
    subject: 'CN=localhost',
    issuer,
    publicKey: keys.publicKey,
    signingKey: authority.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: 'dns', value: 'localhost' },
        { type: 'ip', value: '127.0.0.1' },
        { type: 'ip', value: '::1' },
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(authority.publicKey),
    ],
  });
  const privateKey = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    ca: ca.toString('pem'),
    cert: certificate.toString('pem'),
    key: x509.PemConverter.encode(privateKey, 'PRIVATE KEY'),
  };
}
