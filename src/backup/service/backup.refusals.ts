// Refusals of the backup service.
import { defineRefusals } from '#contract/refusal.ts';

const body =
  (status: number, text: (about: string) => string) =>
  (about = '', extras?: string): Record<string, unknown> => ({
    status,
    msg: text(about),
    ...(extras !== undefined && extras !== '' && { extras }),
  });

const declared = (status: number, sample: string, text: (about: string) => string) => ({
  status,
  sample,
  value: body(status, text),
});

export const backupRefusals = defineRefusals('backup', {
  invalidBody: declared(
    400,
    '{"status":400,"msg":"invalid request body","extras":"{reason}"}',
    () => 'invalid request body',
  ),
  invalidPlan: declared(400, '{"status":400,"msg":"invalid plan","extras":"{reason}"}', () => 'invalid plan'),
  invalidQuery: declared(400, '{"status":400,"msg":"{reason}"}', (about) => about),
  invalidId: declared(
    400,
    '{"status":400,"msg":"{what} id must follow the rules ^[0-9A-Za-z][0-9A-Za-z_-]{0,49}$"}',
    (what) => `${what} id must follow the rules ^[0-9A-Za-z][0-9A-Za-z_-]{0,49}$`,
  ),
  otherCluster: declared(
    400,
    '{"status":400,"msg":"Remote clusters not supported","extras":"Invalid cluster: {name}"}',
    () => 'Remote clusters not supported',
  ),
  invalidLocation: declared(
    400,
    '{"status":400,"msg":"invalid archive location","extras":"{reason}"}',
    () => 'invalid archive location',
  ),
  planNotFound: declared(
    404,
    '{"status":404,"msg":"requested plan not found"}',
    () => 'requested plan not found',
  ),
  planExists: declared(
    400,
    '{"status":400,"msg":"a plan with the name {name} exists"}',
    (name) => `a plan with the name ${name} exists`,
  ),
  planPredefined: declared(
    400,
    '{"status":400,"msg":"cannot change the predefined plan {name}"}',
    (name) => `cannot change the predefined plan ${name}`,
  ),
  planInUse: declared(
    400,
    '{"status":400,"msg":"cannot update plan as it is in use by repository: {id}"}',
    (id) => `cannot update plan as it is in use by repository: ${id}`,
  ),
  repositoryNotFound: declared(
    404,
    '{"status":404,"msg":"repository `{id}` does not exist"}',
    (id) => `repository \`${id}\` does not exist`,
  ),
  repositoryExists: declared(
    400,
    '{"status":400,"msg":"a repository with the id `{id}` exists"}',
    (id) => `a repository with the id \`${id}\` exists`,
  ),
  bucketNotFound: declared(
    400,
    '{"status":400,"msg":"bucket `{name}` does not exist"}',
    (name) => `bucket \`${name}\` does not exist`,
  ),
  tooMany: declared(400, '{"status":400,"msg":"{reason}"}', (about) => about),
  taskNotSent: declared(
    500,
    '{"status":500,"msg":"could not send task","extras":"{reason}"}',
    () => 'could not send task',
  ),
  failed: declared(500, '{"status":500,"msg":"{what}","extras":"{reason}"}', (about) => about),
});
