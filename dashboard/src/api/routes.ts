// What each endpoint takes and gives: the types of the client that the package exports. Nothing of the server gets into the page.
export type { Tagged } from '../../../src/api/client/client.ts'
export type {
  Answer,
  ChangeEndpoint as Change,
  Endpoint,
  ReadEndpoint as Reading,
  RequestOf,
} from '../../../src/api/client/endpoints.ts'
