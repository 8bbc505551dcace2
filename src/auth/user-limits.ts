// Limits of one user per service, per minute or at a time (compatibility 7.1): their names, and how they
// are read from JSON.

/** The limits of each service. Those of `fts` are stored although this node does not run that service. */
export const userLimitNames = {
  clusterManager: ['num_concurrent_requests', 'ingress_mib_per_min', 'egress_mib_per_min'],
  fts: ['num_concurrent_requests', 'num_queries_per_min', 'ingress_mib_per_min', 'egress_mib_per_min'],
  query: ['num_concurrent_requests', 'num_queries_per_min', 'ingress_mib_per_min', 'egress_mib_per_min'],
  kv: ['num_connections', 'num_ops_per_min', 'ingress_mib_per_min', 'egress_mib_per_min'],
} as const;

export type LimitedService = keyof typeof userLimitNames;
export type ServiceLimits = Readonly<Partial<Record<string, number>>>;
export type Limits<Service extends string> = Readonly<Partial<Record<Service, ServiceLimits>>>;
export type UserLimits = Limits<LimitedService>;

const limitMax = 2 ** 53 - 1;

/** Returns the limits (null if none is set) or the problem of what was sent. `names`: the names of the limits of each service. */
export function readLimits<Service extends string>(
  sent: unknown,
  names: Readonly<Record<Service, readonly string[]>>,
): { limits: Limits<Service> | null } | { problem: string } {
  if (!isObject(sent)) return { problem: 'Unexpected Json' };
  const limits: Record<string, ServiceLimits> = {};
  for (const [service, values] of Object.entries(sent)) {
    if (!Object.hasOwn(names, service)) return { problem: `${service}: Unsupported key` };
    if (!isObject(values)) return { problem: `${service}: Unexpected Json` };
    for (const [name, value] of Object.entries(values)) {
      if (!names[service as Service].includes(name))
        return { problem: `${service}.${name}: Unsupported key` };
      if (!Number.isInteger(value)) return { problem: `${service}.${name}: The value must be an integer` };
      if ((value as number) < 1 || (value as number) > limitMax)
        return { problem: `${service}.${name}: The value must be in range from 1 to infinity` };
    }
    if (Object.keys(values).length > 0) limits[service] = values as ServiceLimits;
  }
  return { limits: Object.keys(limits).length > 0 ? (limits as Limits<Service>) : null };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
