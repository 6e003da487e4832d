// The tenant of a worker that has none: what needs one fails at once and says what to set.
import { ApiError, type Tenant } from './api.ts'

const refuse = (): never => {
  throw new ApiError({
    status: null,
    code: 'NoTenant',
    message:
      'This worker is connected to no tenant. Set MATOOLKIT_TENANT_ID and its sign-in, or send the job to a worker that is.',
  })
}

export const NO_TENANT: Tenant = {
  get id() {
    return refuse()
  },
  get organization() {
    return refuse()
  },
  graph: {
    call: async () => refuse(),
    list: () => refuse(),
    urlOf: () => refuse(),
  },
  exchange: { run: async () => refuse() },
  secrets: {
    put: async () => refuse(),
    get: async () => refuse(),
    find: async () => refuse(),
  },
  webhooks: { post: async () => refuse() },
}
