// `npm run release -- --check` in repositories made for the test.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const tool = fileURLToPath(new URL('../../tools/release.ts', import.meta.url));
const manifest = { name: 'divan', version: '1.2.3', license: 'Apache-2.0' };
const dependency = { version: '1.0.0', integrity: 'sha512-x' };
const sound: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify(manifest),
  'package-lock.json': JSON.stringify({
    packages: {
      '': { version: '1.2.3' },
      'node_modules/a': dependency,
      'node_modules/b': { ...dependency, dev: true },
    },
  }),
  'node_modules/a/package.json': JSON.stringify({ name: 'a', version: '1.0.0', license: 'MIT' }),
  'README.md': 'npm install ./divan-1.2.3.tgz\n',
  'CHANGELOG.md': '# Changelog\n\n## 1.2.3 (2026-01-01)\n\n### Added\n\n- something\n\n## 1.2.2\n\n- older\n',
  LICENSE: 'the text\n',
  '.gitignore': 'node_modules\n',
};

/** Runs the check on the sound files with some of them replaced. */
function check(
  changed: Readonly<Record<string, string>>,
  act: (git: (...args: string[]) => void) => void = () => {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'divan-release-'));
  try {
    for (const [path, text] of Object.entries({ ...sound, ...changed })) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgsign=false'];
    const git = (...args: string[]) => void execFileSync('git', [...identity, ...args], { cwd: folder });
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '--message', 'a');
    act(git);
    const { status, stderr } = spawnSync(process.execPath, [tool, '--check'], {
      cwd: folder,
      encoding: 'utf8',
    });
    return { status, problems: stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('a sound checkout has no problem', () => {
  assert.deepEqual(check({}), { status: 0, problems: '' });
});

const mistakes: readonly [string, Record<string, string>, RegExp][] = [
  [
    'a private package',
    { 'package.json': JSON.stringify({ ...manifest, private: true }) },
    /"private" is set/,
  ],
  [
    'another version in the lock',
    { 'package-lock.json': '{"packages": {"": {"version": "1.2.2"}}}' },
    /has version 1\.2\.2/,
  ],
  [
    'another version in the README',
    { 'README.md': 'divan-1.2.2.tgz' },
    /README\.md: names divan-1\.2\.2\.tgz/,
  ],
  [
    'another version in a guide',
    { 'docs/guides/a.md': 'tar -xzf divan-1.2.2-linux-x64.tar.gz' },
    /docs\/guides\/a\.md: names divan-1\.2\.2-linux-x64\.tar\.gz/,
  ],
  [
    'an unnamed section of the changelog',
    { 'CHANGELOG.md': '## Unreleased\n\n- a\n' },
    /first section is "Unreleased"/,
  ],
  [
    'an empty section of the changelog',
    { 'CHANGELOG.md': '## 1.2.3\n\n## 1.2.2\n\n- a\n' },
    /"1\.2\.3" says nothing/,
  ],
  [
    'a licence that is not listed',
    { 'node_modules/a/package.json': '{"license": "GPL-3.0"}' },
    /node_modules\/a: has the licence GPL-3\.0/,
  ],
  ['a missing licence text', { LICENSE: '' }, /LICENSE: name the licence/],
];
for (const [title, files, problem] of mistakes)
  test(`the check names ${title}`, () => {
    const { status, problems } = check(files);
    assert.equal(status, 1);
    assert.match(problems, problem);
    assert.equal(problems.trim().split('\n').length, 1);
  });

test('the check names uncommitted changes and a version that has a tag', () => {
  const { problems } = check({}, (git) => {
    git('tag', 'v1.2.3');
    git('rm', '--quiet', '--cached', 'README.md');
  });
  assert.match(problems, /not committed:[\s\S]*README\.md[\s\S]*the tag v1\.2\.3 exists/);
});
