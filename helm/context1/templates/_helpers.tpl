{{/* Name of the release's objects, cut so that `-vllm-12345678` still fits. */}}
{{- define "context1.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 45 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 45 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{/* Labels that select the pods of a component: (list . "agent"). */}}
{{- define "context1.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Labels of an object of a component: (list . "agent"). */}}
{{- define "context1.labels" -}}
{{- $root := index . 0 -}}
{{ include "context1.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end -}}

{{/* Name, labels and annotations of an object: (list . "agent" "-suffix"). */}}
{{- define "context1.metadata" -}}
{{- $root := index . 0 -}}
name: {{ include "context1.fullname" $root }}{{ index . 2 }}
labels:
  {{- include "context1.labels" (list $root (index . 1)) | nindent 2 }}
{{- with $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Full name of an image: (list . .Values.agent.image). */}}
{{- define "context1.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $name := $image.name -}}
{{- with $root.Values.imageRegistry }}{{ $name = printf "%s/%s" (trimSuffix "/" .) $name }}{{ end -}}
{{- if $image.digest -}}
{{ $name }}@{{ $image.digest }}
{{- else -}}
{{ $name }}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Security of every pod: the restricted standard. */}}
{{- define "context1.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* Security of every container: the restricted standard, and a root that cannot be written. */}}
{{- define "context1.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Environment of every container: a home that can be written, the company's proxy and authorities. */}}
{{- define "context1.env" -}}
{{- $own := printf "localhost,127.0.0.1,%s-agent,%s" (include "context1.fullname" .) (include "context1.vllmService" .) -}}
{{- $none := list .Values.proxy.none $own | compact | join "," -}}
- name: HOME
  value: /tmp
{{- if or .Values.proxy.http .Values.proxy.https }}
{{- range $name, $value := dict "http_proxy" .Values.proxy.http "https_proxy" .Values.proxy.https "no_proxy" $none }}
{{- if $value }}
- name: {{ $name }}
  value: {{ $value | quote }}
- name: {{ upper $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.caBundle.configMap }}
{{- range list "SSL_CERT_FILE" "REQUESTS_CA_BUNDLE" "CURL_CA_BUNDLE" }}
- name: {{ . }}
  value: /etc/context1/ca/ca.crt
{{- end }}
{{- end }}
{{- end -}}

{{/* An environment variable from a Secret: (list NAME SECRET KEY). */}}
{{- define "context1.secretEnv" -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ index . 1 }}
      key: {{ index . 2 }}
{{- end -}}

{{/* Secrets of the S3 storage, for containers that download. */}}
{{- define "context1.storageEnv" -}}
{{- with .Values.storage.existingSecret }}
{{ include "context1.secretEnv" (list "CONTEXT1_STORAGE__ACCESS_KEY" . "access_key") }}
{{ include "context1.secretEnv" (list "CONTEXT1_STORAGE__SECRET_KEY" . "secret_key") }}
{{- end }}
{{- end -}}

{{/* Mounts that every container has. */}}
{{- define "context1.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .Values.caBundle.configMap }}
- name: ca
  mountPath: /etc/context1/ca
  readOnly: true
{{- end }}
{{- end -}}

{{/* Volumes that every pod has. */}}
{{- define "context1.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 1Gi
{{- if .Values.caBundle.configMap }}
- name: ca
  configMap:
    name: {{ .Values.caBundle.configMap }}
    items:
      - key: {{ .Values.caBundle.key }}
        path: ca.crt
{{- end }}
{{- end -}}

{{/* Spread of a component's pods over nodes, as far as it can be had: (list . "agent"). */}}
{{- define "context1.spread" -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "context1.selector" . | nindent 6 }}
{{- end -}}

{{/* Folder of the embedded index in the agent's pod. */}}
{{- define "context1.indexFolder" -}}
{{- if eq .Values.search.embedded.source "s3" -}}
/index/pulled
{{- else -}}
/index/{{ trimAll "/" .Values.search.embedded.pvc.path }}
{{- end -}}
{{- end -}}
