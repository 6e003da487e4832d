// Watches whether a job may have changed the tenant. A failure before the first change has nothing to roll back: a rollback that
// deletes an account after "this account was created elsewhere" would delete somebody's account.
import {
  ApiError,
  type Exchange,
  type RestApi,
  type Tenant,
  type Webhooks,
} from '../../worker/http/api.ts'
import { isNotFound } from './not-found.ts'

/** What one job sent and may have changed. A joint call counts for each job that it acts for. */
export interface Changes {
  count: number
}

export interface WatchedTenant {
  readonly tenant: Tenant
  readonly changes: Changes
  /** False: nothing was sent that changes anything, or all of it was refused. */
  mayHaveChanged(): boolean
}

export function watchEffects(tenant: Tenant): WatchedTenant {
  const changes: Changes = { count: 0 }
  return {
    tenant: watchedFor([changes], tenant),
    changes,
    mayHaveChanged: () => changes.count > 0,
  }
}

/** A tenant on which every change counts for all of these. */
export function watchedFor(jobs: readonly Changes[], tenant: Tenant): Tenant {
  const add = (by: number) => {
    for (const job of jobs) job.count += by
  }
  const change = async <Done>(act: () => Promise<Done>): Promise<Done> => {
    add(1)
    try {
      return await act()
    } catch (error) {
      if (isPlainRefusal(error)) add(-1)
      throw error
    }
  }
  const graph: RestApi = {
    call: (request) => {
      const isRead = request.method === 'GET' || request.isRead === true
      return isRead ? tenant.graph.call(request) : change(() => tenant.graph.call(request))
    },
    list: (request) => tenant.graph.list(request),
    urlOf: (path) => tenant.graph.urlOf(path),
  }
  const exchange: Exchange = {
    run: (cmdlet, parameters, options) => {
      const run = () => tenant.exchange.run(cmdlet, parameters, options)
      return /^(get|test)-/i.test(cmdlet) ? run() : change(run)
    },
  }
  const webhooks: Webhooks = {
    post: (url, body, options) => change(() => tenant.webhooks.post(url, body, options)),
  }
  return Object.create(tenant, {
    graph: { value: graph, enumerable: true },
    exchange: { value: exchange, enumerable: true },
    webhooks: { value: webhooks, enumerable: true },
  }) as Tenant
}

/** Sent once and refused. An earlier sending whose response was lost may have been done. */
export function isPlainRefusal(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.isOutcomeUnknown || error.attempts > 1) return false
  return (error.status !== null && REFUSALS.includes(error.status)) || isNotFound(error)
}

const REFUSALS: readonly number[] = [400, 401, 403, 404, 409, 422]
