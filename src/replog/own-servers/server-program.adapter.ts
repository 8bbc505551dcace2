// The NATS server program that the operator installed: by its path, or in the folders of PATH.
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** In a cluster of earlier versions, two changes that expect the same revision can both succeed. */
const versionMin = '2.12';
const versionTimeoutMs = 10_000;

const howToGet =
  `get version ${versionMin} or later from https://github.com/nats-io/nats-server/releases, and put it in a folder of PATH ` +
  'or pass its path with --nats-server PATH';

/**
 * The path of the program. `folders` is the text of PATH.
 * @throws Error that says how to get it.
 */
export async function findServerProgram(given: string | undefined, folders: string): Promise<string> {
  const path = given ?? inFolders(folders);
  if (path === null)
    throw new Error(`--engine nats needs the program nats-server, which is not in PATH: ${howToGet}`);
  const version = await versionOf(path);
  if (!isNewEnough(version))
    throw new Error(`--engine nats: ${path} is of version ${version}, which is too old: ${howToGet}`);
  return path;
}

function inFolders(folders: string): string | null {
  const paths = folders.split(delimiter).map((folder) => join(folder, 'nats-server'));
  return paths.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function versionOf(path: string): Promise<string> {
  const answer = await promisify(execFile)(path, ['--version'], { timeout: versionTimeoutMs }).catch(
    (error: Error) => ({ stdout: '', error }),
  );
  const version = /\bv(\d+\.\d+\.\d+\S*)/.exec(answer.stdout)?.[1];
  if (version !== undefined) return version;
  const reason = 'error' in answer ? answer.error.message : 'it prints no version';
  throw new Error(`--engine nats: ${path} cannot be used as nats-server: ${reason.trim()}; ${howToGet}`);
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [majorMin = 0, minorMin = 0] = versionMin.split('.').map(Number);
  return major > majorMin || (major === majorMin && minor >= minorMin);
}
