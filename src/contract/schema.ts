// What a route's query or body is checked against: the Standard Schema interface (standardschema.dev). The fields of
// fields.ts have it, and so have Zod's types, which cost their start time and memory only where a contract uses them.

export interface Schema<T = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Result<T> | Promise<Result<T>>;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}

export type Result<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

export interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type Output<S> = S extends Schema<infer T> ? T : never;
