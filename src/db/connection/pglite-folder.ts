// The folder of the embedded database. PGlite sets the modes of its files itself, past the umask: 968 of 1,004 files were writable by
// everybody. Here every file and folder is for its owner only, from the moment it exists. It knows why the database gave up.
import { mkdirSync } from 'node:fs'
import type { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'

const OTHERS = 0o077
/** No space, or no quota, by the numbers that WebAssembly programs use. */
const FULL = [51, 19]

type StartOptions = Parameters<NodeFS['init']>[1]

/** The parts of Emscripten's file system that set modes and write. */
interface FolderModule {
  readonly NODEFS: {
    readonly node_ops: {
      mknod(parent: object, name: string, mode: number, device: number): object
      setattr(node: object, attributes: { readonly mode?: number | null }): void
    }
    readonly stream_ops: { write(...call: unknown[]): number }
  }
}

export class PrivateFolder extends NodeFS {
  /** Whether the disk has refused a write for want of space. */
  isFull = false
  /** The last line in which the database gave up. */
  lastWords: string | null = null

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    super(folder)
  }

  override init(pg: PGlite, options: StartOptions): ReturnType<NodeFS['init']> {
    const { preRun = [], printErr } = options
    const prepare = (module: unknown) => {
      narrowModes(module as FolderModule)
      this.#watchWrites(module as FolderModule)
    }
    const listen = (line: string) => {
      const [, words] = /\b(?:FATAL|PANIC): +(.*)/.exec(line) ?? []
      this.lastWords = words ?? this.lastWords
      printErr?.(line)
    }
    return super.init(pg, { ...options, printErr: listen, preRun: [...preRun, prepare] })
  }

  #watchWrites({ NODEFS: { stream_ops: operations } }: FolderModule): void {
    const { write } = operations
    operations.write = (...call) => {
      try {
        return write(...call)
      } catch (error) {
        this.isFull ||= FULL.includes((error as { errno?: number }).errno ?? 0)
        throw error
      }
    }
  }
}

function narrowModes({ NODEFS: { node_ops: operations } }: FolderModule): void {
  const { mknod, setattr } = operations
  operations.mknod = (parent, name, mode, device) => mknod(parent, name, mode & ~OTHERS, device)
  operations.setattr = (node, { mode, ...attributes }) =>
    setattr(node, mode == null ? attributes : { ...attributes, mode: mode & ~OTHERS })
}
