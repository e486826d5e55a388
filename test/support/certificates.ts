import { webcrypto } from 'node:crypto';
import type * as X509 from '@peculiar/x509';

/** PEM texts for a server. `cert` is the chain that the server shows. */
export type ServerCertificate = { cert: string; key: string };

export type CertificateWish = {
  /** DNS names and literal addresses. */
  names: readonly string[];
  validFrom?: Date;
  validTo?: Date;
};

/** A certificate authority that lives in memory. */
export type TestAuthority = {
  /** Its own certificate, PEM. */
  ca: string;
  issue(wish: CertificateWish): Promise<ServerCertificate>;
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
    async issue(wish) {
      const own = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
      const certificate = await x509.X509CertificateGenerator.create({
        ...common(x509, wish),
        subject: 'CN=Test server',
        issuer: root.subject,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
      });
      return { cert: certificate.toString('pem'), key: await pemOf(own.privateKey) };
    },
  };
}

export async function selfSigned(wish: CertificateWish): Promise<ServerCertificate> {
  const x509 = await loadX509();
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...common(x509, wish),
    name: 'CN=Test server',
    keys,
  });
  return { cert: certificate.toString('pem'), key: await pemOf(keys.privateKey) };
}

function common(x509: typeof X509, wish: CertificateWish) {
  const names = wish.names.map((value) => ({
    type: /^[\d.]+$|:/.test(value) ? ('ip' as const) : ('dns' as const),
    value,
  }));
  return {
    notBefore: wish.validFrom ?? new Date(Date.now() - DAY),
    notAfter: wish.validTo ?? new Date(Date.now() + DAY),
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.SubjectAlternativeNameExtension(names)],
  };
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${der.replace(/.{64}/g, '$&\n')}\n-----END PRIVATE KEY-----\n`;
}

/**
 * The library's dependency injection asks for decorator metadata that the language does not have; these three
 * functions are all that it calls.
 */
async function loadX509(): Promise<typeof X509> {
  if (!('getMetadata' in Reflect)) {
    const known = new WeakMap<object, Map<unknown, unknown>>();
    const getOwnMetadata = (key: unknown, target: object) => known.get(target)?.get(key);
    const getMetadata = (key: unknown, target: object | null): unknown =>
      target === null
        ? undefined
        : (getOwnMetadata(key, target) ?? getMetadata(key, Object.getPrototypeOf(target)));
    const defineMetadata = (key: unknown, value: unknown, target: object) =>
      known.set(target, (known.get(target) ?? new Map()).set(key, value));
    Object.assign(Reflect, { getOwnMetadata, getMetadata, defineMetadata });
  }
  return import('@peculiar/x509');
}
