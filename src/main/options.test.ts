import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choice, describeOptions, kinds, parseOptions, UsageError } from './options.ts';

const specs = {
  'rest-port': { kind: kinds.port, default: 8091, doc: 'REST port' },
  edition: { kind: choice('enterprise', 'community'), default: 'enterprise', doc: 'rules to apply' },
  bucket: { kind: kinds.text, repeat: true, doc: 'bucket to make' },
  'data-dir': { kind: kinds.path, doc: 'folder' },
} as const;

const parse = (args: string[], environment: Record<string, string> = {}) =>
  parseOptions(specs, args, environment);
const usage = (args: string[], environment: Record<string, string>, text: RegExp) =>
  assert.throws(
    () => parse(args, environment),
    (error) => error instanceof UsageError && text.test(error.message),
  );

test('an option of the command line takes precedence over its environment variable, and the variable over the default', () => {
  assert.deepEqual(parse([]), {
    'rest-port': 8091,
    edition: 'enterprise',
    bucket: [],
    'data-dir': undefined,
  });
  const environment = { DIVAN_REST_PORT: '1', DIVAN_DATA_DIR: '/x', DIVAN_BUCKET: 'a,b' };
  const values = parse(['--rest-port=2'], environment);
  assert.equal(values['rest-port'], 2);
  assert.equal(values['data-dir'], '/x');
  assert.deepEqual(values.bucket, ['a', 'b']);
});

test('a text of the environment keeps its blanks, as on the command line, without a line end after it', () => {
  const texts = { password: { kind: kinds.text, doc: 'password' } } as const;
  const ofEnvironment = (text: string) => parseOptions(texts, [], { DIVAN_PASSWORD: text }).password;
  assert.equal(ofEnvironment(' a b '), ' a b ');
  assert.equal(ofEnvironment('a b\n'), 'a b');
  assert.equal(parse([], { DIVAN_REST_PORT: ' 1 ' })['rest-port'], 1);
});

test('the option parser collects a repeatable option', () => {
  assert.deepEqual(parse(['--bucket', 'a', '--bucket', 'b=c']).bucket, ['a', 'b=c']);
});

test('an error names a wrong option or value and the right form', () => {
  usage(['--rest-prot', '1'], {}, /unknown option --rest-prot; did you mean --rest-port\?/);
  usage(['--rest-port', '70000'], {}, /--rest-port: "70000" is not a port \(0 to 65535/);
  usage(['--rest-port'], {}, /--rest-port needs a value: --rest-port PORT/);
  usage(['--data-dir', '--rest-port', '1'], {}, /--data-dir needs a value: --data-dir PATH/);
  usage(['--rest-port', '1', '--rest-port', '2'], {}, /given twice/);
  usage(['--edition', 'free'], {}, /"free" is not one of enterprise, community/);
  usage([], { DIVAN_REST_PORT: 'x' }, /DIVAN_REST_PORT: "x" is not a port/);
  usage(['stray'], {}, /"stray" is not an option/);
});

test('the help describes every option', () => {
  const text = describeOptions(specs);
  for (const name of Object.keys(specs)) assert.match(text, new RegExp(`--${name} `));
});
