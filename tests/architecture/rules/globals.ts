/**
 * The globals that core may use: the language and pure computation on values that are handed in.
 * Everything else that a run time offers is the outside and reaches core through a port.
 */
export const PURE_GLOBALS: ReadonlySet<string> = new Set([
  ...["undefined", "NaN", "Infinity", "Object", "Array", "Map", "Set", "WeakMap", "WeakSet"],
  ...["Promise", "JSON", "Math", "Number", "String", "Boolean", "BigInt", "Symbol", "Date"],
  ...["RegExp", "Error", "TypeError", "RangeError", "SyntaxError", "AggregateError", "Iterator"],
  ...["ArrayBuffer", "DataView", "Uint8Array", "Uint16Array", "Uint32Array", "Int32Array"],
  ...["BigUint64Array", "Float64Array", "Reflect", "Intl", "isNaN", "isFinite", "parseInt"],
  ...["parseFloat", "encodeURIComponent", "decodeURIComponent", "encodeURI", "decodeURI"],
  ...["atob", "btoa", "structuredClone", "TextEncoder", "TextDecoder", "URL", "URLSearchParams"],
  ...["AbortController", "AbortSignal", "DOMException", "ReadableStream", "WritableStream"],
  ...["TransformStream", "DecompressionStream", "CompressionStream"],
]);

/** The ambient globals that people reach for, each with the port that stands for it. */
export const AMBIENT_GLOBALS: ReadonlyMap<string, string> = new Map([
  ["Deno", "the run time: use a port"],
  ["process", "the process: use a port"],
  ["navigator", "the host: use a port"],
  ["globalThis", "a door to everything ambient: use a port"],
  ["self", "a door to everything ambient: use a port"],
  ["eval", "code from text"],
  ["Function", "code from text"],
  ["fetch", "the network: use the http port"],
  ["WebSocket", "the network: use the http port"],
  ["EventSource", "the network: use the http port"],
  ["XMLHttpRequest", "the network: use the http port"],
  ["setTimeout", "a timer: use the clock port"],
  ["setInterval", "a timer: use the clock port"],
  ["setImmediate", "a timer: use the clock port"],
  ["clearTimeout", "a timer: use the clock port"],
  ["clearInterval", "a timer: use the clock port"],
  ["queueMicrotask", "a timer: use the clock port"],
  ["performance", "the time: use the clock port"],
  ["Temporal", "the time, and missing in the oldest supported Deno: use the clock port"],
  ["crypto", "randomness and the run time's own keys: use the random port"],
  ["console", "standard output: use the log port"],
  ["localStorage", "a disk: use the disk port"],
  ["sessionStorage", "a disk: use the disk port"],
  ["caches", "a disk: use the disk port"],
  ["Worker", "another thread: core has none"],
]);

/** Members of pure globals that read the clock, the dice or a timer all the same. */
export const AMBIENT_MEMBERS: ReadonlyMap<string, string> = new Map([
  ["Date.now", "the time: use the clock port"],
  ["Math.random", "randomness: use the random port"],
  ["AbortSignal.timeout", "a timer: use the clock port"],
]);

/** Methods whose result depends on the time zone or the language of the machine. */
export const LOCALE_METHODS: ReadonlySet<string> = new Set([
  ...["getFullYear", "getMonth", "getDate", "getDay", "getHours", "getMinutes", "getSeconds"],
  ...["getMilliseconds", "setFullYear", "setMonth", "setDate", "setHours", "setMinutes"],
  ...["setSeconds", "setMilliseconds", "getTimezoneOffset", "toDateString", "toTimeString"],
  ...["toLocaleString", "toLocaleDateString", "toLocaleTimeString", "localeCompare"],
  ...["toLocaleLowerCase", "toLocaleUpperCase"],
]);
