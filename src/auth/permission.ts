// Permissions as text and as data: `cluster.bucket[b].settings!read` is an object (a path in a tree) and an operation.
// The brackets of bucket, scope and collection hold names; `.` among them stands for "any", `{name}` for a path parameter.

/** One step of an object's path. `names` are bucket, scope and collection, as many as the step has; null stands for any. */
export interface PermissionStep {
  readonly name: string;
  readonly names: readonly (string | null)[];
}

export interface Permission {
  readonly object: readonly PermissionStep[];
  readonly operation: string;
}

const nameCounts: Record<string, number> = { bucket: 1, scope: 2, collection: 3 };

/** Null for a text that is not a permission. */
export function parsePermission(text: string): Permission | null {
  const head = /^\s*cluster(?=[.!])/.exec(text);
  if (!head) return null;
  const object: PermissionStep[] = [];
  const stepPattern = /\.([a-z0-9_]+)(?:\[([^\]]*)\])?|!([a-z0-9_]+)\s*$/y;
  stepPattern.lastIndex = head[0].length;
  for (let found = stepPattern.exec(text); found; found = stepPattern.exec(text)) {
    const [, name, names, operation] = found;
    if (operation !== undefined) return { object, operation };
    const step = parseStep(name as string, names);
    if (!step) return null;
    object.push(step);
  }
  return null;
}

function parseStep(name: string, inside: string | undefined): PermissionStep | null {
  const names = inside === undefined ? [] : inside.split(':');
  if (names.length !== (nameCounts[name] ?? 0)) return null;
  if (names.includes('')) return null;
  return { name, names: names.map((part) => (part === '.' ? null : part)) };
}

/** Replaces `{name}` by path parameters. A parameter cannot change the structure of the permission. */
export function fillPermission(template: Permission, params: Readonly<Record<string, string>>): Permission {
  const object = template.object.map((step) =>
    step.names.length === 0 ? step : { ...step, names: step.names.map((name) => fill(name, params)) },
  );
  return { ...template, object };
}

function fill(name: string | null, params: Readonly<Record<string, string>>): string | null {
  const placeholder = name === null ? null : /^\{(\w+)\}$/.exec(name);
  return placeholder ? (params[placeholder[1] as string] ?? null) : name;
}

export function permissionText(permission: Permission): string {
  const steps = permission.object.map((step) => {
    if (step.names.length === 0) return step.name;
    return `${step.name}[${step.names.map((name) => name ?? '.').join(':')}]`;
  });
  return `${['cluster', ...steps].join('.')}!${permission.operation}`;
}
