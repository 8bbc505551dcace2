// JavaScript that runs in the sandbox before a library: it calls the library's functions with JSON, and describes what they throw. It
// keeps what it needs of the built-in objects, since the library may change them.

/** The value of this expression is a function of a name, the arguments and the positions of undefined ones. It returns JSON. */
export const prelude = `((parse, stringify, PromiseType, ErrorType, text) => {
  globalThis.N1QL = () => {
    throw new ErrorType('N1QL(): statements inside JavaScript functions are not supported by this node');
  };
  const builtIn = new Map(Object.getOwnPropertyNames(globalThis).map((name) => [name, globalThis[name]]));
  const isBuiltIn = builtIn.get.bind(builtIn);
  const describe = (error) =>
    error instanceof ErrorType
      ? stringify({ thrown: text(error), stack: text(error.stack) })
      : stringify({ thrown: error === undefined ? null : error });
  return (name, values, undefinedAt) => {
    const called = globalThis[name];
    if (typeof called !== 'function' || isBuiltIn(name) === called) return '{"absent":true}';
    try {
      const list = parse(values);
      for (const at of parse(undefinedAt)) list[at] = undefined;
      const value = called(...list);
      return value instanceof PromiseType ? '{"promise":true}' : stringify({ value });
    } catch (error) {
      return describe(error);
    }
  };
})(JSON.parse, JSON.stringify, Promise, Error, String)`;
