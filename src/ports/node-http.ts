// Node's HTTP modules. An `import` of node:http reads every name that it exports, and reading WebSocket loads Node's whole fetch
// client, which the node does not need: that takes 60 ms of a start, and 8 MB in each thread.

export const http = process.getBuiltinModule('node:http');
export const https = process.getBuiltinModule('node:https');
