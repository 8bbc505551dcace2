// Checks that commit subjects have at most 72 characters: those of commits that the remote's main branch lacks; without a remote, that
// of the last commit.
import { spawnSync } from 'node:child_process';

const subjectCharacters = 72;

const problems: string[] = [];
for (const line of newCommits()) {
  const [hash = '', subject = ''] = line.split('\t');
  if (subject.length > subjectCharacters)
    problems.push(
      `${hash} has a subject of ${subject.length} characters (limit ${subjectCharacters}): ${subject}`,
    );
}
for (const problem of problems) console.error(problem);
console.log(`commits: ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);

/** Returns an empty list outside a git checkout (the published package, an archive). */
function newCommits(): string[] {
  const isMainKnown = git('rev-parse', '--verify', '--quiet', 'origin/main') !== '';
  const range = isMainKnown ? ['origin/main..HEAD'] : ['-1', 'HEAD'];
  return git('log', '--no-merges', '--format=%h%x09%s', ...range)
    .split('\n')
    .filter((line) => line !== '');
}

function git(...args: string[]): string {
  return spawnSync('git', args, { encoding: 'utf8' }).stdout ?? '';
}
