// The Helm chart, the image and the Compose file: the chart renders the expected resources, the start command of its containers forms a
// cluster, and a node has every option and port that these files name. Kubernetes itself does not run here.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';
import { needs } from '../support/needs.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const chart = join(checkout, 'packaging/helm/divan');
const read = (path: string): string => readFileSync(path, 'utf8');
const { version } = JSON.parse(read(join(checkout, 'package.json'))) as { version: string };

interface Named {
  readonly name: string;
}

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly (Named & { readonly value?: string })[];
  readonly ports: readonly (Named & { readonly containerPort: number })[];
  readonly volumeMounts: readonly (Named & { readonly mountPath: string })[];
  readonly securityContext: object;
}

interface Resource {
  readonly kind: string;
  readonly metadata: Named & { readonly labels: Readonly<Record<string, string>> };
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas: number;
    readonly serviceName: string;
    readonly clusterIP?: string;
    readonly selector: Readonly<Record<string, string>>;
    readonly ports: readonly (Named & { readonly port: number })[];
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly securityContext: { readonly runAsNonRoot: boolean };
        readonly containers: readonly [Container];
        readonly volumes: readonly Named[];
      };
    };
    readonly volumeClaimTemplates: readonly { readonly metadata: Named }[];
  };
}

describe('the Helm chart', { skip: needs('go') }, () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-helm-'));
  const renderer = join(scratch, 'render');
  before(() => {
    const source = join(checkout, 'test/support/helm/render.go');
    execFileSync('go', ['build', '-o', renderer, source], { env: { ...process.env, GOFLAGS: '-mod=mod' } });
  });
  after(() => rmSync(scratch, { recursive: true, force: true }));

  /** Renders the chart; `administrator` replaces that part of its values. */
  function render(administrator: object): { resources: Resource[]; problem: string } {
    const templates = globSync('templates/*', { cwd: chart });
    const values = { ...(parse(read(join(chart, 'values.yaml'))) as object), administrator };
    const about = parse(read(join(chart, 'Chart.yaml'))) as Record<string, unknown>;
    const data = {
      Values: values,
      // Helm names the fields of the chart in this way.
      Chart: { Name: about['name'], AppVersion: about['appVersion'] },
      Release: { Name: 'shop', Namespace: 'data', Service: 'Helm' },
    };
    const files = Object.fromEntries(templates.map((name) => [name, read(join(chart, name))]));
    const run = spawnSync(renderer, { input: JSON.stringify({ files, data }), encoding: 'utf8' });
    if (run.status !== 0) return { resources: [], problem: run.stderr };
    const rendered = Object.entries(JSON.parse(run.stdout) as Record<string, string>);
    const resources = rendered
      .filter(([name]) => name.endsWith('.yaml'))
      .flatMap(([, text]) => parseAllDocuments(text))
      .map((document) => {
        assert.deepEqual([...document.errors, ...document.warnings], []);
        return document.toJS() as Resource | null;
      })
      .filter((resource) => resource !== null);
    return { resources, problem: '' };
  }

  const account = { username: 'Administrator', password: 'a "quoted" password', existingSecret: '' };
  const kinds = (resources: readonly Resource[]) => resources.map(({ kind }) => kind).sort();
  const nodesOf = (resources: readonly Resource[]) =>
    resources.find(({ kind }) => kind === 'StatefulSet') as Resource;

  it('renders three nodes with their names, their storage and an address for clients', () => {
    const { resources, problem } = render(account);
    assert.equal(problem, '');
    assert.deepEqual(kinds(resources), [
      'PodDisruptionBudget',
      'Secret',
      'Service',
      'Service',
      'StatefulSet',
    ]);
    const { spec, metadata } = nodesOf(resources);
    assert.equal(spec.replicas, 3);
    const services = resources.filter(({ kind }) => kind === 'Service');
    const headless = services.find(({ spec: { clusterIP } }) => clusterIP === 'None') as Resource;
    assert.equal(spec.serviceName, headless.metadata.name);
    assert.ok(services.some((service) => service !== headless && service.spec.clusterIP === undefined));
    for (const { spec: service } of services)
      for (const [label, value] of Object.entries(service.selector))
        assert.equal(
          spec.template.metadata.labels[label],
          value,
          `the pods lack the label ${label} of a service`,
        );
    const [container] = spec.template.spec.containers;
    assert.equal(container.image, `divan:${version}`);
    const volumes = [
      ...spec.template.spec.volumes,
      ...spec.volumeClaimTemplates.map((each) => each.metadata),
    ];
    assert.deepEqual(
      container.volumeMounts.map(({ name }) => name).sort(),
      volumes.map(({ name }) => name).sort(),
    );
    assert.equal(spec.template.spec.securityContext.runAsNonRoot, true);
    assert.equal(metadata.labels['app.kubernetes.io/version'], version);
  });

  it('keeps the password in a secret, its own or an existing one, and is not rendered without a password', () => {
    const own = render(account).resources.find(({ kind }) => kind === 'Secret');
    assert.equal(own?.stringData?.['password'], account.password);
    const other = render({ ...account, password: '', existingSecret: 'theirs' }).resources;
    assert.equal(kinds(other).includes('Secret'), false);
    assert.match(JSON.stringify(nodesOf(other)), /"secretKeyRef":\{"name":"theirs","key":"password"\}/);
    assert.match(render({ ...account, password: '' }).problem, /administrator\.password/);
  });

  it('starts the first node as the founder, and lets the others join it by its name in the headless service', () => {
    const { resources } = render(account);
    const { spec, metadata } = nodesOf(resources);
    const [container] = spec.template.spec.containers;
    const stub = join(scratch, 'divan');
    writeFileSync(stub, '#!/bin/sh\necho "$* join=$DIVAN_JOIN"\n');
    chmodSync(stub, 0o755);
    const ready = join(scratch, 'ready.json');
    writeFileSync(ready, '{}');
    const started = (name: string) =>
      execFileSync('sh', ['-c', container.args[0] as string], {
        encoding: 'utf8',
        env: { PATH: `${scratch}:${process.env['PATH']}`, POD_NAME: name, DIVAN_READY_FILE: ready },
      }).trim();
    assert.equal(started(`${metadata.name}-0`), 'node join=');
    assert.equal(
      started(`${metadata.name}-2`),
      `node join=http://${metadata.name}-0.${spec.serviceName}:8091`,
    );
    assert.throws(() => read(ready), 'the ready file of an earlier container is still there');
  });

  it('names only options of a node, and opens only its ports', () => {
    const { resources } = render(account);
    const [container] = nodesOf(resources).spec.template.spec.containers;
    const help = execFileSync(process.execPath, [join(checkout, 'bin/divan.js'), 'node', '--help'], {
      encoding: 'utf8',
    });
    for (const { name } of container.env.filter((each) => each.name.startsWith('DIVAN_'))) {
      const option = `--${name.slice('DIVAN_'.length).toLowerCase().replaceAll('_', '-')}`;
      assert.ok(help.includes(`${option} `), `${name}: a node has no option ${option}`);
    }
    const exposed = exposedPorts();
    const opened = [
      ...container.ports.map(({ containerPort }) => containerPort),
      ...resources
        .filter(({ kind }) => kind === 'Service')
        .flatMap(({ spec }) => spec.ports.map(({ port }) => port)),
    ];
    assert.deepEqual(
      opened.filter((port) => !exposed.includes(port)),
      [],
    );
  });
});

const [natsClientPort, natsClusterPort] = [4222, 6222];

const instructions = read(join(checkout, 'Dockerfile'))
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => /^[A-Z]+ /.test(line));

function exposedPorts(): number[] {
  const ports =
    instructions
      .find((line) => line.startsWith('EXPOSE '))
      ?.split(' ')
      .slice(1) ?? [];
  return ports.map(Number);
}

it('the image has the NATS server that the tests run, in a folder of PATH, and opens its ports', () => {
  const version = / v(\d+\.\d+\.\d+)/.exec(
    read(join(checkout, 'tools/nats-server/go.mod'))
      .split('\n')
      .find((line) => line.includes('github.com/nats-io/nats-server/v2 ')) ?? '',
  )?.[1];
  assert.ok(
    instructions.includes(`FROM nats:${version}-scratch AS nats`),
    `the server of the image is of another version than ${version}`,
  );
  assert.ok(instructions.includes('COPY --from=nats /nats-server /usr/local/bin/nats-server'));
  assert.deepEqual(
    [natsClientPort, natsClusterPort].filter((port) => !exposedPorts().includes(port)),
    [],
  );
});

it('the Compose file can run NATS servers, and its nodes have every option that it names', () => {
  const { services } = parse(read(join(checkout, 'compose.yaml')), { merge: true }) as {
    services: Record<string, { environment: Record<string, string> }>;
  };
  assert.equal(Object.keys(services).length, 3);
  const help = execFileSync(process.execPath, [join(checkout, 'bin/divan.js'), 'node', '--help'], {
    encoding: 'utf8',
  });
  for (const { environment } of Object.values(services)) {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Compose replaces it.
    assert.equal(environment['DIVAN_ENGINE'], '${DIVAN_ENGINE:-embedded}');
    for (const name of Object.keys(environment))
      assert.ok(help.includes(`--${name.slice('DIVAN_'.length).toLowerCase().replaceAll('_', '-')} `), name);
  }
});

it('the image runs without the rights of root, and says whether it is healthy', () => {
  const last = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM ')));
  const at = (start: string) => last.findIndex((line) => line.startsWith(start));
  assert.match(last[0] ?? '', /^FROM node:\d+-slim$/);
  assert.ok(at('USER node') !== -1 && at('USER node') < at('ENTRYPOINT'));
  assert.equal(at('USER root'), -1);
  assert.notEqual(at('HEALTHCHECK '), -1);
  assert.ok(exposedPorts().includes(8091));
});
