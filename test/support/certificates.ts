import { webcrypto } from 'node:crypto';
import type * as X509 from '@peculiar/x509';
import { loadX509 } from '../../dev/launcher/x509.ts';

/** PEM texts for a server. `cert` is the chain that the server shows. */
export type ServerCertificate = { cert: string; key: string };

export type CertificateOptions = {
  /** DNS names and IP addresses. */
  names: readonly string[];
  validFrom?: Date;
  validTo?: Date;
};

/** A certificate authority in memory. */
export type TestAuthority = {
  /** The certificate of the authority, PEM. */
  ca: string;
  issue(options: CertificateOptions): Promise<ServerCertificate>;
};

const DAY = 24 * 3_600_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export async function createTestAuthority(name = 'Test authority'): Promise<TestAuthority> {
  const x509 = await loadX509();
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    notBefore: new Date(Date.now() - 400 * DAY),
    notAfter: new Date(Date.now() + DAY),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  return {
    ca: root.toString('pem'),
    async issue(options) {
      const own = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
      const certificate = await x509.X509CertificateGenerator.create({
        ...common(x509, options),
        subject: 'CN=Test server',
        issuer: root.subject,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
      });
      return { cert: certificate.toString('pem'), key: await pemOf(x509, own.privateKey) };
    },
  };
}

export async function selfSigned(options: CertificateOptions): Promise<ServerCertificate> {
  const x509 = await loadX509();
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...common(x509, options),
    name: 'CN=Test server',
    keys,
  });
  return { cert: certificate.toString('pem'), key: await pemOf(x509, keys.privateKey) };
}

function common(x509: typeof X509, options: CertificateOptions) {
  const names = options.names.map((value) => ({
    type: /^[\d.]+$|:/.test(value) ? ('ip' as const) : ('dns' as const),
    value,
  }));
  return {
    notBefore: options.validFrom ?? new Date(Date.now() - DAY),
    notAfter: options.validTo ?? new Date(Date.now() + DAY),
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.SubjectAlternativeNameExtension(names)],
  };
}

async function pemOf(x509: typeof X509, key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}
