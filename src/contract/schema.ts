// The validator of a route's query or body: the Standard Schema interface (standardschema.dev). The fields of
// fields.ts implement it, and so do Zod's types; Zod's start time and memory are paid only where a contract uses it.

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
