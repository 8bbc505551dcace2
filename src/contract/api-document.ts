// The parts of an OpenAPI 3.1 document that our descriptions have and that their page shows.

export interface ApiDocument {
  openapi: '3.1.0';
  info: {
    title: string;
    version: string;
    description: string;
    license?: { name: string; identifier: string };
  };
  tags: { name: string }[];
  paths: Record<string, Record<string, ApiOperation>>;
}

export interface ApiOperation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: unknown[];
  requestBody?: unknown;
  responses: Record<string, ApiResponse>;
}

export interface ApiResponse {
  description: string;
  content?: Record<string, { schema: unknown }>;
}
