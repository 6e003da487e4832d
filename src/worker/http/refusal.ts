// How services refuse a request: most send an OData error, or something that can be read like one.
import { isObject, type Json, type JsonObject } from '../../base/text/json.ts'
import type { ErrorDetail } from './api.ts'
import type { ServiceRefusal } from './client.ts'
import type { HttpResponse } from './http.ts'

export const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})
const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** A 404 without a reason is a wrong address or a proxy: it says nothing about the object. */
export const isMissingByStatus = (
  status: number,
  { code }: Pick<ServiceRefusal, 'code'>,
): boolean => status === 404 && code !== UNEXPLAINED

const UNEXPLAINED = 'Unexplained'

/** Not cut: the job hides secrets first. */
export function readODataRefusal({ status, text }: HttpResponse, body: Json): ServiceRefusal {
  const error = objectOf(objectOf(body).error)
  const details = Array.isArray(error.details) ? error.details.map(objectOf) : []
  const told = {
    code: textOf(error.code) || UNEXPLAINED,
    message: textOf(error.message) || text || 'no reason given.',
  }
  return { ...told, details: details.map(detailOf), isMissing: isMissingByStatus(status, told) }
}

const detailOf = (detail: JsonObject): ErrorDetail => ({
  code: textOf(detail.code),
  target: typeof detail.target === 'string' ? detail.target : null,
  message: textOf(detail.message),
})
