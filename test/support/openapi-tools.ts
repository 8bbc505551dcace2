// Third-party tools for API documents, installed beside the project in the versions that test/openapi names: generators of
// clients, validators, Schemathesis.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const definitions = fileURLToPath(new URL('../openapi', import.meta.url));
const cache = fileURLToPath(new URL('../../node_modules/.cache/openapi-tools', import.meta.url));
const installTimeoutMs = 300_000;

/** The folder of the programs for Node. */
export const nodeTools = join(cache, 'node');
export const nodeTool = (name: string): string => join(nodeTools, 'node_modules/.bin', name);
export const pythonTool = (name: string): string => join(cache, 'python/bin', name);

/** Throws if they cannot be installed. */
export function installNodeTools(): void {
  once('node', ['package.json', 'package-lock.json'], () => {
    for (const name of ['package.json', 'package-lock.json'])
      cpSync(join(definitions, name), join(nodeTools, name));
    runProgram('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', nodeTools]);
  });
}

export function installPythonTools(): void {
  once('python', ['requirements.txt'], () => {
    runProgram('python3', ['-m', 'venv', '--clear', join(cache, 'python')]);
    const requirements = join(definitions, 'requirements.txt');
    runProgram(pythonTool('pip'), ['install', '--quiet', '--disable-pip-version-check', '-r', requirements]);
  });
}

function once(name: string, files: readonly string[], install: () => void): void {
  const wanted = files.map((file) => readFileSync(join(definitions, file), 'utf8')).join('\n');
  const mark = join(cache, `${name}.installed`);
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return;
  mkdirSync(join(cache, name), { recursive: true });
  install();
  writeFileSync(mark, wanted);
}

const runProgram = (program: string, args: readonly string[]): unknown =>
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: installTimeoutMs });
