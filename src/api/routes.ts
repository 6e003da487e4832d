// Every endpoint there is. To add one: write it with `read` or `change` in the file of its noun under routes/, and name it there.
import type { Route } from './route.ts'
import { AUDIT_ROUTES } from './routes/audit.ts'
import { type Surroundings, serviceRoutes } from './routes/service.ts'

export function allRoutes(around: Omit<Surroundings, 'routes'>): readonly Route[] {
  const routes: Route[] = []
  routes.push(...AUDIT_ROUTES)
  routes.push(...serviceRoutes({ ...around, routes: () => routes }))
  return routes
}
