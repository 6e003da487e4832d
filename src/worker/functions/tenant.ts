// Where a function acts, and whether it may have changed anything there. A package of functions adds the services of its vendor; the
// worker itself knows a vault, webhooks and tokens. A failure before the first change has nothing to roll back: a rollback that deletes an
// account after "this account was created elsewhere" would delete somebody's account.
import { ApiError, isPlainRefusal, type Secrets, type Webhooks } from '../http/api.ts'

/** What one job sent and may have changed. A joint call counts for each job that it acts for. */
export interface Changes {
  count: number
}

export interface Tenant {
  readonly id: string
  /** Its name at the vendor, such as `contoso.onmicrosoft.com`. */
  readonly organization: string
  readonly secrets: Secrets
  readonly webhooks: Webhooks
  /** An access token, for a program that calls the service itself. */
  token(service: string): Promise<string>
  /** The same tenant; every change made through it counts for all of these jobs. */
  countingFor(jobs: readonly Changes[]): Tenant
}

/** Runs a change and counts it, unless it was plainly refused. */
export type CountChange = <Done>(act: () => Promise<Done>) => Promise<Done>

export function changeCounter(jobs: readonly Changes[]): CountChange {
  const add = (by: number) => {
    for (const job of jobs) job.count += by
  }
  return async (act) => {
    add(1)
    try {
      return await act()
    } catch (error) {
      if (isPlainRefusal(error)) add(-1)
      throw error
    }
  }
}

/** Webhooks of which every post counts as a change. */
export const countedWebhooks = (webhooks: Webhooks, change: CountChange): Webhooks => ({
  post: (url, body, options) => change(() => webhooks.post(url, body, options)),
})

export const NO_TENANT_CODE = 'NoTenant'

export const refuseWithoutTenant = (): never => {
  throw new ApiError({
    status: null,
    code: NO_TENANT_CODE,
    message:
      'This worker has no tenant. Set MATOOLKIT_TENANT_ID and its sign-in, or send the job to a worker that has one.',
  })
}

/** The tenant of a worker that has none: every call fails and names the settings to set. */
export const NO_TENANT: Tenant = {
  get id() {
    return refuseWithoutTenant()
  },
  get organization() {
    return refuseWithoutTenant()
  },
  secrets: {
    put: async () => refuseWithoutTenant(),
    get: async () => refuseWithoutTenant(),
    find: async () => refuseWithoutTenant(),
  },
  webhooks: { post: async () => refuseWithoutTenant() },
  token: async () => refuseWithoutTenant(),
  countingFor(jobs) {
    const webhooks = countedWebhooks(this.webhooks, changeCounter(jobs))
    return Object.create(this, { webhooks: { value: webhooks, enumerable: true } }) as Tenant
  },
}
