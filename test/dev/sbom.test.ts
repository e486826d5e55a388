import assert from 'node:assert/strict';
import { billOfMaterials } from '../../dev/checks/sbom.ts';
import { lockedPackages, shippedPackages } from '../../dev/checks/shipped-packages.ts';

type Component = { name: string; version: string; hashes?: { alg: string }[]; licenses?: unknown[] };

describe('the bill of materials', () => {
  it('contains every package of the service and its screens, with its hash, and no tools', () => {
    const { bomFormat, metadata, components } = JSON.parse(billOfMaterials('cyclonedx')) as {
      bomFormat: string;
      metadata: { component: { name: string; type: string } };
      components: Component[];
    };
    assert.equal(bomFormat, 'CycloneDX');
    assert.deepEqual([metadata.component.name, metadata.component.type], ['baton', 'application']);
    const listed = new Set(components.map(({ name, version }) => `${name}@${version}`));
    const shipped = [...shippedPackages(lockedPackages('package-lock.json'))].map(
      ([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`,
    );
    assert.deepEqual([...listed].toSorted(), [...new Set(shipped)].toSorted());
    for (const { name, hashes = [] } of components) assert.equal(hashes[0]?.alg, 'SHA-512', name);
    const names = new Set(components.map(({ name }) => name));
    // Tools of the tests need Koa and zod, too.
    for (const name of ['koa', 'zod', '@temporalio/worker', 'react']) assert.ok(names.has(name), name);
    for (const name of ['mocha', 'vite', 'oidc-provider']) assert.ok(!names.has(name), name);
  });

  it('can also be written as SPDX', () => {
    assert.match(JSON.parse(billOfMaterials('spdx')).spdxVersion, /^SPDX-2/);
  });
});
