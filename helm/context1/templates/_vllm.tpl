{{/* Short name of a release's model, for labels and for the Service of the pods that serve it. */}}
{{- define "context1.modelHash" -}}
{{ .Values.pins.model | sha256sum | trunc 8 }}
{{- end -}}

{{/* Name of the Service of the pods that serve this release's model. */}}
{{- define "context1.vllmService" -}}
{{ include "context1.fullname" . }}-vllm-{{ include "context1.modelHash" . }}
{{- end -}}

{{/* What `vllm serve` is told to load: a folder, or a name at the hub. */}}
{{- define "context1.modelPath" -}}
{{- $model := .Values.vllm.model -}}
{{- if eq $model.source "hub" -}}
{{ $model.hub.repository }}
{{- else if eq $model.source "s3" -}}
/models/{{ .Values.pins.model | replace "/" "-" }}
{{- else -}}
/models/{{ trimAll "/" $model.pvc.path }}
{{- end -}}
{{- end -}}

{{/* Arguments of `vllm serve`, one a line of a YAML list. */}}
{{- define "context1.vllmArgs" -}}
{{- $vllm := .Values.vllm -}}
{{- /* Needed by the agent, so no value can change them. */ -}}
{{- $fixed := dict
  "host" "0.0.0.0"
  "port" 8000
  "served-model-name" .Values.pins.model
  "logprobs-mode" "processed_logprobs"
  "enable-prompt-tokens-details" true
  "shutdown-timeout" $vllm.shutdownSeconds -}}
{{- if gt (int $vllm.gpus) 1 }}{{ $_ := set $fixed "tensor-parallel-size" $vllm.gpus }}{{ end -}}
{{- if eq $vllm.model.source "hub" }}{{ $_ := set $fixed "revision" $vllm.model.hub.revision }}{{ end -}}
- {{ include "context1.modelPath" . | quote }}
{{- range $flag, $value := merge $fixed $vllm.flags }}
{{- if kindIs "bool" $value }}
- {{ printf "--%s%s" (ternary "" "no-" $value) $flag | quote }}
{{- else if kindIs "string" $value }}
- {{ printf "--%s=%s" $flag $value | quote }}
{{- else if not (kindIs "invalid" $value) }}
- {{ printf "--%s=%s" $flag (toRawJson $value) | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Resources of the vLLM container with its GPUs. */}}
{{- define "context1.vllmResources" -}}
{{- $resources := deepCopy .Values.vllm.resources -}}
{{- if .Values.vllm.gpus -}}
{{- $gpus := dict .Values.vllm.gpuResource (toString .Values.vllm.gpus) -}}
{{- $_ := merge $resources (dict "requests" $gpus "limits" $gpus) -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}
