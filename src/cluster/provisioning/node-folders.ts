// Validates requested folders of a node.
import type { Form } from '#contract/route.ts';
import type { NodePaths } from '../config/cluster-state.ts';

/** Folders as the operating system sees them. */
export interface Folders {
  /** The physical path after following links; a missing part is kept as written. */
  physicalPath(path: string): Promise<string>;
  /** Creates the folder if necessary; false if it is not writable. */
  usableFolder(path: string): Promise<boolean>;
}

/** Parameter names of the node's folders in the two calls that set them. Analytics may have several. */
export interface PathNames {
  data: string;
  index: string;
  analytics: string;
  eventing: string;
  javaHome: string;
}

interface PathsRequest {
  form: Form;
  names: PathNames;
  before: NodePaths;
  isProvisioned: boolean;
}

/** Returns the node's future paths; adds the reasons of refusal to `problems`. */
export async function readPaths(
  { form, names, before, isProvisioned }: PathsRequest,
  folders: Folders,
  problems: string[],
): Promise<NodePaths> {
  const sent = sentPaths(form, names, before, problems);
  if (problems.length > 0) return before;
  const wanted = await withPhysicalPaths(sent, before, folders);
  problems.push(...nestedFolderProblems(await folders.physicalPath(before.data), wanted, before, names));
  if (problems.length === 0) problems.push(...(await pathProblems(wanted, before, isProvisioned, folders)));
  return wanted;
}

/** The problems of folders for another node of the cluster, which is provisioned and therefore keeps its folders. */
export function problemsOfOtherNode(form: Form, names: PathNames, before: NodePaths): string[] {
  const problems: string[] = [];
  const sent = foldersOf(sentPaths(form, names, before, problems));
  if (problems.length > 0) return problems;
  return sent.every((path) => foldersOf(before).includes(path)) ? [] : [provisionedText];
}

function sentPaths(form: Form, names: PathNames, before: NodePaths, problems: string[]): NodePaths {
  const path = (name: string, sent: string) => {
    if (sent === '') problems.push(`${name} cannot contain empty string`);
    else if (!sent.startsWith('/') && !/^[A-Za-z]:[\\/]/.test(sent)) {
      problems.push(`An absolute path is required for ${name}`);
    }
    return sent;
  };
  const folder = (name: string, present: string) =>
    form[name] === undefined ? present : path(name, form[name]);
  const analytics = form[names.analytics]?.split('\n').map((sent) => path(names.analytics, sent));
  return {
    data: folder(names.data, before.data),
    index: folder(names.index, before.index),
    analytics: analytics ?? before.analytics,
    eventing: folder(names.eventing, before.eventing),
    javaHome: form[names.javaHome] ?? before.javaHome,
  };
}

/** Resolves links. A folder that the node already uses keeps its stored path. */
async function withPhysicalPaths(sent: NodePaths, before: NodePaths, folders: Folders): Promise<NodePaths> {
  const recorded = new Map<string, string>();
  for (const path of foldersOf(before)) recorded.set(await folders.physicalPath(path), path);
  const follow = async (path: string) => {
    const physical = await folders.physicalPath(path);
    return recorded.get(physical) ?? physical;
  };
  return {
    data: await follow(sent.data),
    index: await follow(sent.index),
    analytics: await Promise.all(sent.analytics.map(follow)),
    eventing: await follow(sent.eventing),
    javaHome: sent.javaHome,
  };
}

const foldersOf = ({ data, index, analytics, eventing }: NodePaths) => [data, index, ...analytics, eventing];

/** Another service may use the data folder itself, but no folder inside of it. */
function nestedFolderProblems(
  dataFolder: string,
  wanted: NodePaths,
  before: NodePaths,
  names: PathNames,
): string[] {
  const inside = dataFolder.endsWith('/') ? dataFolder : `${dataFolder}/`;
  const present = foldersOf(before);
  return [
    [names.index, wanted.index],
    ...wanted.analytics.map((path) => [names.analytics, path]),
    [names.eventing, wanted.eventing],
  ].flatMap(([name, path = '']) =>
    path.startsWith(inside) && !present.includes(path)
      ? [`'${name}' (${path}) must not be a sub-directory of 'data_path' (${before.data})`]
      : [],
  );
}

async function pathProblems(
  wanted: NodePaths,
  before: NodePaths,
  isProvisioned: boolean,
  folders: Folders,
): Promise<string[]> {
  const changed = foldersOf(wanted).filter((path) => !foldersOf(before).includes(path));
  if (changed.length > 0 && isProvisioned) {
    return [provisionedText];
  }
  if (wanted.data !== before.data) {
    return [
      `Could not set the storage path. It is fixed while the node runs (${before.data}); start it with another --data-dir.`,
    ];
  }
  if (new Set(wanted.analytics).size < wanted.analytics.length) return [sameFolderText];
  for (const path of changed) {
    if (!(await folders.usableFolder(path))) {
      return [`Could not set the storage path. It must be a directory writable by this node: ${path}`];
    }
  }
  return [];
}

const provisionedText = 'Changing paths of nodes that are part of provisioned cluster is not supported';
const sameFolderText =
  'Could not set analytics storage. Different directories should not resolve into the same physical location.';
