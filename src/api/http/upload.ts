// File uploads (multipart). Files stay in memory for the length of the request, at most 50 MB each and two at a time: member files
// are personal data, and data never written to disk needs no deleting.
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type {} from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'

const FILE_BYTES_MAX = 50 * 1024 * 1024
/** File, fields and multipart boundaries. */
const FORM_BYTES_MAX = FILE_BYTES_MAX + 64 * 1024
const UPLOADS_AT_ONCE = 2
const FIELD_CHARS_MAX = 2_000
const NAME_CHARS_MAX = 100

const LIMITS = {
  fileSize: FILE_BYTES_MAX,
  files: 1,
  fields: 10,
  parts: 11,
  fieldSize: FIELD_CHARS_MAX,
  fieldNameSize: 100,
  headerPairs: 50,
}

export class UploadedFile {
  /** The caller's file name, reduced to printable characters. */
  readonly name: string
  readonly bytes: number
  readonly sha256: string
  readonly #parts: readonly Buffer[]

  constructor(name: string, parts: readonly Buffer[]) {
    this.name = name.replaceAll(/[^\p{L}\p{N} ._-]/gu, '').slice(0, NAME_CHARS_MAX) || 'upload'
    const hash = createHash('sha256')
    for (const part of parts) hash.update(part)
    this.#parts = parts
    this.sha256 = hash.digest('hex')
    this.bytes = parts.reduce((sum, part) => sum + part.length, 0)
  }

  /** A new stream from the first byte. */
  open(): Readable {
    return Readable.from(this.#parts)
  }

  /** Stands for the file in the request hash. */
  toJSON(): string {
    return this.sha256
  }
}

/** The form field with the file. */
export const uploaded = z
  .custom<UploadedFile>((value) => value instanceof UploadedFile, 'must be a file')
  .meta({ type: 'string', format: 'binary' })

export type ReadUpload = (request: FastifyRequest) => Promise<Record<string, unknown>>

/** Reads forms, at most two at a time (UPLOADS_BUSY). Call `done` when the request ends. */
export function uploadReader(): { read: ReadUpload; done(request: FastifyRequest): void } {
  const running = new Set<FastifyRequest>()
  return {
    read: async (request) => {
      if (running.size >= UPLOADS_AT_ONCE) throw new MatoolkitError('UPLOADS_BUSY')
      const announcedBytes = Number(request.headers['content-length'] ?? 0)
      if (announcedBytes > FORM_BYTES_MAX) throw new MatoolkitError('BODY_TOO_LARGE')
      running.add(request)
      try {
        return await readForm(request)
      } catch (error) {
        // Parser errors are the caller's mistakes, but only some carry a status.
        const { statusCode = 400 } = error as { statusCode?: number }
        if (error instanceof MatoolkitError || statusCode === 406) throw error
        const code = statusCode === 413 ? 'BODY_TOO_LARGE' : 'REQUEST_UNREADABLE'
        throw new MatoolkitError(code, {}, { cause: error })
      }
    },
    done: (request) => void running.delete(request),
  }
}

async function readForm(request: FastifyRequest): Promise<Record<string, unknown>> {
  const form: Record<string, unknown> = {}
  for await (const part of request.parts({ limits: LIMITS })) {
    if (Object.hasOwn(form, part.fieldname) || part.fieldname === '__proto__') {
      throw new MatoolkitError('REQUEST_UNREADABLE')
    }
    if (part.type === 'field') form[part.fieldname] = part.value
    else {
      const parts: Buffer[] = []
      for await (const bytes of part.file) parts.push(bytes as Buffer)
      if (part.file.truncated) throw new MatoolkitError('BODY_TOO_LARGE')
      form[part.fieldname] = new UploadedFile(part.filename ?? '', parts)
    }
  }
  return form
}
